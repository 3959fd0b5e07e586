"""
Versions of the protocol, as a handshake compares them.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


#: Digits of ASCII alone: no sign, space, underscore or foreign numeral, all of which `int` takes.
#: The protocol bounds no number; this many digits are parsed.
_TRIPLE: Final = re.compile(r"([0-9]{1,1000})\.([0-9]{1,1000})\.([0-9]{1,1000})")


class Version(NamedTuple):
    """
    Three numbers. As a text it is normalised: no leading zeros.
    """

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """
        Parse a version.

        Raises:
            ValueError: It is not exactly three numbers with dots between them.
        """
        found = _TRIPLE.fullmatch(text)
        if found is None:
            raise ValueError(f"a version has the form 0.0.0, not {text[:64]!r}")
        return cls(*map(int, found.groups()))

    def accepts(self, client: Version) -> bool:
        """
        Tell whether a server of this version takes a client.

        The major must be the same, the minor equal (major 0) or not above the server's; the patch
        never matters.
        """
        if client.major != self.major:
            return False
        return client.minor == self.minor if self.major == 0 else client.minor <= self.minor

    def __str__(self) -> str:
        """
        Return the version as it is written.
        """
        return f"{self.major}.{self.minor}.{self.patch}"
