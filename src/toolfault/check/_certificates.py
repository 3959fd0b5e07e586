"""
Certificates for the upstreams of one process, so that HTTPS can be broken, too.

Rule 1: they are made for one check, and trusted only by a process that is started with them.
Rule 2: keys of the authority stay in memory; what is written is gone when the check ends.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolfault._version import __version__


if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec


#: Variables that name the certificates to trust: OpenSSL and Go, requests, curl, Node, AWS, gRPC.
_TRUST: Final = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)

#: A check is over long before.
_VALID: Final = timedelta(days=1)

#: How many hosts get a certificate, and how long a host's name may be.
_MAX_HOSTS: Final = 256
_MAX_NAME: Final = 253


class Authority:
    """
    An authority that certifies whatever host a process asks for.
    """

    def __init__(self) -> None:
        """
        Make its key and certificate.

        Raises:
            ImportError: The package cryptography is not installed.
        """
        from cryptography.hazmat.primitives.asymmetric import (  # noqa: PLC0415 -- not for a check without a proxy
            ec,
        )

        self._key = ec.generate_private_key(ec.SECP256R1())
        self._host_key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _sign("toolfault check", self._key, self._key)
        self._folder = tempfile.TemporaryDirectory(prefix="toolfault-check-")
        self._path = Path(self._folder.name) / "authority.pem"
        self._path.write_bytes(_encode(self._certificate))
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def environment(self) -> Mapping[str, str]:
        """
        The variables that make a process trust it.
        """
        return dict.fromkeys(_TRUST, str(self._path)) | {"NODE_USE_ENV_PROXY": "1"}

    def context_for(self, host: str) -> ssl.SSLContext | None:
        """
        Return what a server of a host speaks TLS with; None for what can't be one.

        Args:
            host: A name or an address.
        """
        if host not in self._contexts:
            if len(self._contexts) >= _MAX_HOSTS or not 0 < len(host) <= _MAX_NAME:
                return None
            try:
                self._contexts[host] = self._make_context(host)
            except ValueError:
                # It is not a name that a certificate can hold.
                return None
        return self._contexts[host]

    def close(self) -> None:
        """
        Remove what was written.
        """
        self._folder.cleanup()

    def _make_context(self, host: str) -> ssl.SSLContext:
        certificate = _sign(host, self._host_key, self._key, self._certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        # The module ssl reads files only.
        handle, path = tempfile.mkstemp(dir=self._folder.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_encode_key(self._host_key) + _encode(certificate))
            context.load_cert_chain(path)
        finally:
            Path(path).unlink()
        return context


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None = None,
) -> x509.Certificate:
    """
    Return a certificate for a host, or for an authority where there is no issuer.
    """
    from cryptography import x509  # noqa: PLC0415 -- as above
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 -- as above
    from cryptography.x509.oid import NameOID  # noqa: PLC0415 -- as above

    def make_name(text: str) -> x509.Name:
        organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, f"toolfault {__version__}")
        return x509.Name([organization, x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])

    now = datetime.now(UTC)
    is_authority = issuer is None
    subject = make_name(name)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer_identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(issuer_identifier, critical=False)
        .add_extension(_usage(is_authority=is_authority), critical=True)
    )
    if not is_authority:
        names = x509.SubjectAlternativeName([_general_name(name)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    from cryptography import x509  # noqa: PLC0415 -- as above

    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509  # noqa: PLC0415 -- as above

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _encode(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 -- as above

    return certificate.public_bytes(Encoding.PEM)


def _encode_key(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 -- as above

    data: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return data
