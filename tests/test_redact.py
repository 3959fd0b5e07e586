"""
What leaves of a text, and what does not.

Secrets are put together at run time, so that no scanner takes this file for a leak.
"""

import base64
import html
import json
import logging
import re
import subprocess
import sys
import threading
from re import _constants, _parser
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secret_samples import ALNUM, COOKIES, HEX, PASSWORDS, PHRASES, PINS, PLANTED, SHAPES, TOKEN_SHAPES
from toolfault import _redact, _text
from toolfault._redact import (
    REMOVED,
    Redactor,
    adjacent,
    commands,
    encoded,
    families,
    keys,
    named,
    paths,
    registered,
    tokens,
    urls,
    words,
)
from toolfault._text import WINDOW


LIMIT = 100_000

#: No environment and no machine: what is found here, is found by its look.
bare = Redactor(environ={}, roots=["/srv/app", r"C:\Users\ann"])


@pytest.mark.parametrize(("family", "sentence", "secret"), PLANTED, ids=lambda value: str(value)[:20])
def test_a_planted_secret_goes_and_the_sentence_stays(family, sentence, secret):
    """
    Whatever the family, the words around a secret survive.
    """
    text = sentence.format(secret)

    assert sentence.format(REMOVED) == bare.redact(text)


@pytest.mark.parametrize(("family", "sentence", "secret"), PLANTED, ids=lambda value: str(value)[:20])
def test_redacting_twice_is_redacting_once(family, sentence, secret):
    """
    What is replaced is not looked at again.
    """
    once = bare.redact(sentence.format(secret))

    assert once == bare.redact(once)


@pytest.mark.parametrize(("family", "sentence", "secret"), PLANTED, ids=lambda value: str(value)[:20])
def test_scrub_lets_no_planted_secret_through(family, sentence, secret):
    """
    The whole pipeline removes what the redactor alone does.
    """
    assert secret not in bare.scrub(sentence.format(secret), LIMIT)


def test_all_families_and_prefixes_are_planted():
    """
    The ten families of the standard.
    """
    families = {"private key", "header", "scheme", "cookie", "url", "query", "name", "flag", "jwt", "vendor"}

    assert families == {family for family, _, _ in PLANTED}


@pytest.mark.parametrize("shape", [shape for _, shape in SHAPES])
def test_a_password_goes_wherever_it_stands(shape):
    """
    Beside its name, below it, in a list, in a command, in SQL, in prose, encoded.
    """
    kept = [password for password in PASSWORDS if password in bare.scrub(shape.format(password), LIMIT)]

    assert kept == []


@pytest.mark.parametrize("shape", [shape for _, shape in TOKEN_SHAPES])
@pytest.mark.parametrize("token", [ALNUM, HEX + "a1", "CXPBWqFkrOsQQgrxygKbLuyVxLdqcjka"])
def test_a_token_goes_wherever_it_stands(shape, token):
    """
    Also one of letters only, and after a scheme that nobody knows.
    """
    assert token not in bare.scrub(shape.format(token), LIMIT)


@pytest.mark.parametrize("text", PINS + PHRASES)
def test_short_numbers_and_long_phrases_go_by_their_names(text):
    """
    Elsewhere a number is a number, and words are words.
    """
    value = text.partition("=")[2] or text.partition(":")[2].strip(" '")

    assert value not in bare.scrub(text, LIMIT)


@pytest.mark.parametrize("text", COOKIES)
def test_the_cookies_of_machines_between_go_by_their_names(text):
    """
    They tell an attacker the session, or the machine behind.
    """
    value = re.split(r"[=:] ?", text, maxsplit=1)[1].rpartition("=")[2].strip('"')

    assert value not in bare.scrub(text, LIMIT)


@settings(max_examples=8)
@given(st.data())
@pytest.mark.parametrize("vendor", tokens.VENDORS, ids=lambda vendor: vendor.name)
def test_the_tokens_of_a_vendor_go(vendor, data):
    """
    Each has the marker that is looked for first; what mixes letters and digits goes.
    """
    ascii_only = st.characters(codec="ascii")
    token = data.draw(st.from_regex(rf"\A(?:{vendor.form})\Z", fullmatch=True, alphabet=ascii_only))
    token = token.rstrip("\n")

    assert vendor.marker in token
    assert vendor.source
    if vendor.exact or words.is_mixed(token):
        assert token not in tokens.redact_tokens(f"the key {token} is wrong")


def test_vendors_are_named_once():
    """
    A table that is read by people has no line twice.
    """
    assert len(tokens.VENDORS) == len({vendor.name for vendor in tokens.VENDORS})
    assert len(tokens.VENDORS) == len({vendor.form for vendor in tokens.VENDORS})


KEY_LINES = "\n".join([ALNUM + "Q" * 24, "z" * 20 + ALNUM + "+/+/", ALNUM[:30] + HEX + "AB"])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KEY_LINES + "\nabc=\n-----END RSA " + "PRIVATE KEY-----", id="without its first line"),
        pytest.param("bad key: " + KEY_LINES.replace("\n", "\\n") + "\\n", id="on one line"),
        pytest.param(
            "tls.key: " + base64.b64encode(f"-----BEGIN {'PRIVATE'} KEY-----\n{KEY_LINES}".encode()).decode(),
            id="in base64",
        ),
        pytest.param(
            "PuTTY-User-Key-File-3: x\nPrivate-Lines: 3\n" + KEY_LINES + "\nPrivate-MAC: " + HEX + HEX, id="PuTTY"
        ),
        pytest.param(base64.b64encode(b'{"auths":{"x":{"auth":"' + ALNUM.encode() + b'"}}}').decode(), id="Docker"),
    ],
)
def test_a_private_key_goes_by_its_body(text):
    """
    Whatever has become of its first line.
    """
    shown = bare.scrub(text, LIMIT)

    assert REMOVED in shown
    assert not any(line in shown for line in text.replace("\\n", "\n").split("\n") if len(line) > 50)
    assert base64.b64encode(ALNUM.encode()).decode()[:30] not in shown


@pytest.mark.parametrize("kind", ["CERTIFICATE", "PUBLIC KEY"])
def test_a_certificate_and_a_public_key_stay(kind):
    """
    They are made to be shown.
    """
    text = f"-----BEGIN {kind}-----\n{KEY_LINES}\n-----END {kind}-----"

    assert text == bare.scrub(text, LIMIT)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m text", "red text"),
        ("\x1b[Kloading", "loading"),
        ("\x1b[mpassword is required", "password is required"),
        ("\x1b(Bplain", "plain"),
        ("a\x1b[2Kb", "ab"),
    ],
)
def test_a_whole_control_sequence_goes_with_its_letter(text, shown):
    """
    Only one that is cut off before the name of a secret leaves its next letter.
    """
    assert shown == bare.scrub(text, LIMIT)


HARMLESS = [
    "The city 'Atlantis' was not found.",
    "HTTP 404 Not Found for https://api.example.com/v1/cities/42?page=2&per_page=50",
    "Client error '429 Too Many Requests' for url 'https://api.example.com/v1/search?q=tokens'",
    "basic authentication failed",
    "token expired yesterday",
    "Bearer token is missing or invalid",
    "Basic authentication requires a password",
    "Authorization: required",
    "Authorization header missing",
    "Authorization: Bearer token missing",
    "tokens=4000 of 8192 used",
    "This model's maximum context length is 8192 tokens; your messages have 9000 (max_tokens=4096).",
    "exit code: 1",
    "code=42",
    "error_code=E1234567890AB in module 7",
    "session not found: abc",
    "author=Smith, year=2024",
    "passed=3 failed=2 skipped=0",
    "pass=3 fail=2",
    "primary key: id",
    "sort_key=name",
    "partition key=2026-11-30#abc123def456",
    "monkey=banana",
    "keyboard: qwerty",
    'duplicate key value violates unique constraint "users_email_key"\nDETAIL: Key (email)=(ann@example.com) already exists.',
    "SELECT id, token_count FROM usage WHERE day >= '2026-11-01' AND key = 'city' ORDER BY day",
    'relation "api_keys" does not exist',
    "UNIQUE constraint failed: sessions.id",
    "(1045, \"Access denied for user 'root'@'localhost' (using password: YES)\")",
    'FATAL: password authentication failed for user "ann"',
    "password: must be at least 8 characters",
    "password: required",
    "Password: 8-64 characters",
    "pwd: /home, PWD=/data/x",
    "Set API_KEY=your-api-key-here",
    "Your API key is invalid",
    "API key not valid. Please pass a valid API key.",
    "NoSuchKey: The specified key does not exist. Key: reports/2024/q4.pdf",
    "Redis key: session:9f8e7d6c not found",
    "KeyError: 'access_token'",
    'WWW-Authenticate: Bearer realm="example", error="invalid_token"',
    "error=invalid_grant, error_description=The access token expired",
    "An error occurred (InvalidClientTokenId) when calling the GetCallerIdentity operation",
    "Rate limit reached on tokens per min. Limit: 10000 / min. Current: 12000 / min.",
    "got an unexpected keyword argument 'token'",
    "401 {'error': {'code': 'invalid_api_key', 'type': 'auth'}}",
    "sha256:9fceb02d0ae598e95dc970b74767f19372d61af8e95dc970b74767f1 does not match",
    "https://shop.example.com/a?session=summer&code=SAVE10 is over",
    "password must not be empty",
    '{"password": ["This field may not be blank."]}',
    "Field 'api_key': value is not a valid string",
    "1 validation error for Login\npassword\n  Field required [type=missing, input_type=dict]",
    "Invalid token: unexpected end of input",
    "Unexpected token '}' in JSON at position 12",
    "Unexpected token: ident at line 3 column 7",
    "Missing arguments: ['token', 'city']",
    "Missing ('token', 'city')",
    "error: the following arguments are required: --api-key, --city",
    "unrecognized arguments: --password is not an option",
    "Use --token or --token-file to log in",
    "next_page_token=CAESBgoEAAABBB12345",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 was not found in branch main",
    "Job 550e8400-e29b-41d4-a716-446655440000 is still running",
    "Order #4711 costs $1,234.56, and the limit is 1_000.00 EUR",
    "No mailbox ann.smith+test@example.com on mail.example.com:587",
    "Started 2026-11-30T16:52:33.123456Z, timed out after 30.0 s",
    "FileNotFoundError: report-2024_final.csv",
    "ModuleNotFoundError: No module named 'yaml'",
    "[Errno 111] Connection refused",
    "Cannot connect to host db.internal:5432 ssl:default",
    "Version 2.31.0 of requests needs urllib3<3,>=1.21.1",
    "a < b and c > d; use List<int> or Map<string, int>",
    "<city> is required, see --help",
    "if x == y and token == expected then stop",
    "primary_key=True, cache_key=9fceb02d0ae598e9",
    "Content-Type: application/json; charset=utf-8",
    "ratio 3:4, at 12:30:45, std::string, https://example.com/a:b",
    "The cookie: accept or refuse?",
    "Set author: Smith; keywords: tools, keys",
    "docker run -u 1000:1000 image:latest failed",
    "credentials: none given",
    "token=None, password=None, secret=''",
    "password=******** was masked",
    "DB_PASSWORD=${DB_PASSWORD} is not set",
    "secret name: db-login, key_id: 12, token_type=bearer",
    "disk-usage-report-for-november-2026 and task-management-for-all-1a2b3c",
    "Umlaute wie äöü, 日本語 und Ελληνικά bleiben.",
    "signature: f(a, b) -> int",
    "Key: uploads/2024/report.csv was not found",
    "The bucket has 12 objects; keys=12",
    "git+ssh://git@github.com/a/b.git not found",
    "http://localhost:8080/users/@me is gone",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf not found",
    "token_type=bearer expires_in=3600",
    "Secret Garden: closed",
    "password: 8+ characters",
    "password (min. 8 characters) is required",
    "password; at least one of !@#$%",
    "Missing arguments: ['password', 'address2', 'line_1']",
    "SELECT password, email2 FROM users",
    "token is valid until 2026-12-01T10:00:00Z",
    "credentials were rotated on 2026-11-30",
    "credentials: ~/.aws/credentials is missing",
    "API key: (see https://example.com/keys)",
    "access token (expires in 3600s)",
    "Access denied for user 'app1'@'10.0.0.7' (using password: YES)",
    "login as ann42 failed",
    "docker run -p 127.0.0.1:8080:80/tcp app",
    "ratio 16:9@60Hz",
    "[--token TOKEN] [--password PASSWORD]",
    "docker exec -u root:root web",
    "docker run -p 8080:80 nginx",
    "mysql -p shop needs a password",
    "auth=oauth2",
    "feature/sk-1234-add-login was not found",
    "SECRET_MANAGER_PROJECT=acme",
    "licence_key=trial",
    '{"password": "too short"}',
    '{"password": "weak"}',
    '{"name": "password", "type": "string"}',
    '{"key": "token", "value": null}',
    "| password | varchar(255) | NO |",
    "UPDATE users SET password = ? WHERE id = ?",
    "SELECT name, password FROM users WHERE id = 42",
    "INSERT INTO users (name, city) VALUES ('ann', 'Oslo')",
    "password sha256 and token base64 are not supported",
    "the token bucket-2 is empty",
    "app:latest@sha256 is not an image",
    "npm/lodash@4.17.21 and actions/checkout@v4 failed",
    "user:group@host is wrong",
    "mailto:jane99@example.com bounced",
    "pin: 4 digits, pin=17",
    "salt rounds: 12",
    "random seed: 12345",
    "invalid credentials given 5 times",
    "https://example.com/?t=2026-11-30&k=10 is over",
    "a%20b%3Dc is no query",
    "Tom &amp; Jerry &quot;are&quot; here",
    "Try https://host:8443/a@b next",
    # A reference to a secret, or a name that a token is given to.
    "token -> user42",
    "secret: prod/db-2026",
    "secret -> vault:prod/db1 was not found",
    "secret: kv/data/app1 was not found",
    "auth: user/ann42",
    "auth=oauth2/v2",
    "credentials user/role1",
    "credentials: s3/bucket-1 are missing",
    "creds: team/dev-42",
    # Commands and tables without a secret.
    "htpasswd -b needs a user and a password",
    "Usage: htpasswd [-b] passwordfile username password",
    "vault login failed",
    "vault login -method=oidc is not supported",
    "Please pass abc12def to the tool",
    '{"name": "password", "value": "must not be empty"}',
    '{"name": "error_code", "value": "E1234567890AB"}',
    "user,password\nann,see page 12b",
    "Error: vault login succeeded",
    "Step 2: vault login needs a token",
    "smbclient //srv/share returned NT_STATUS_LOGON_FAILURE",
    "net use \\\\srv\\share failed with error 5",
    "Error: net user bob was not found",
    "sshpass -p requires a value",
    "mysqladmin password must be given",
    "mysql -port 3306 is no flag",
    "docker run -p 127.0.0.1:8080:80 nginx",
    'expect: send "yes\\r"',
    'Please send "report.csv" to ann',
    "echo hello | sudo tee /etc/motd",
    "echo $PASSWORD | sudo -S ls",
    "cat file | grep password",
    "user,city\nann,Oslo2024x",
    "user,password\nann,none\nbob,missing",
    "city, password\nboth are required, see above",
    "| column | type |\n|--------|------|\n| password | varchar(20) |",
    "Missing credentials ('username', 'api_token')",
    "credentials (see https://example.com/a1b2) are required",
    "cookie AWSALB is missing",
    "SERVERID: unknown",
]


@pytest.mark.parametrize("text", HARMLESS, ids=lambda text: text[:40])
def test_harmless_text_leaves_as_it_is(text):
    """
    An error that holds no secret is not touched by any step.
    """
    assert text == bare.scrub(text, LIMIT)


#: Commands with a hole for a password that may be a word.
COMMANDS = [
    "Error: vault login {}",
    "$ vault login -no-print {}",
    "['vault', 'login', '{}'] failed",
    "smbclient //srv/share {} -U bob",
    "smbclient -N //srv/share '{}'",
    "net use \\\\srv\\share {}",
    "net use Z: \\\\srv\\share {} /user:bob",
    "net use \\\\srv\\share /user:DOM\\bob {}",
    "error: net user bob {} /add",
    "sshpass -p {} ssh bob@db",
    "sshpass -p{} ssh bob@db",
    "sshpass -p '{} {}' ssh bob@db",
    "Command '['sshpass', '-p', '{}', 'ssh', 'db']' returned 1",
    "ldapsearch -x -D cn=admin,dc=x -w {} -b dc=x",
    "ldapmodify -w{} -f a.ldif",
    "az login -u bob -p {}",
    "az login --service-principal -u app -p {} --tenant t",
    "docker login -u bob -p {} registry.example.com",
    "helm registry login -p {} r.example.com",
    "npm login -u bob -p {}",
    "cf login -a https://api.example.com -p {}",
    "mysqladmin -u root password {}",
    "mysqladmin password '{}' -u root",
    "mysql -u root -p{} shop",
    "mysqldump -p{} shop > a.sql",
    "mariadb-dump -u root -p{}",
    "mongosh -u root -p {}",
    "cqlsh -u app -p {}",
    "redis-cli -a {} PING",
    "sqlcmd -S db -P {}",
    "bcp shop out a.txt -P {}",
    "plink -pw {} db",
    "ipmitool -H bmc -P {} power status",
    "mosquitto_pub -u app -P {} -t x",
    "xfreerdp /u:bob /p:{} /v:host",
    "rabbitmqctl add_user bob {}",
    'expect: send "{}\\r"',
    'expect -c \'spawn ssh db; expect "password:"; send -- "{}\\n"\'',
    "echo {} | npm login",
    "printf 'bob\\n{}\\n' | npm adduser",
    "vault login - <<< {}",
]


@pytest.mark.parametrize("password", ["correcthorse", "Sommernacht", "Tr0ub4dor&3x"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_password_goes_where_a_program_takes_nothing_else(command, password):
    """
    Such a place needs no digits in it.
    """
    assert password not in bare.scrub(command.format(*[password] * command.count("{}")), LIMIT)


@pytest.mark.parametrize("text", ["login('ann', 'mypassword')", "auth=('ann', 'mypassword')"])
def test_a_call_with_credentials_shows_no_password_that_is_a_name(text):
    assert "mypassword" not in bare.scrub(text, LIMIT)


WORDS = st.sampled_from(
    ["password", "Token", "secret", "API", "key", "login", "vault", "ann", "the", "is", "1234", "code", "user's"]
    + ["bearer", "basic", "identified by", "values", "net user", "`city`", "(pin)", "sudo", "cookie,", "wrong."]
)


@given(st.lists(WORDS | st.from_regex(r"[a-z]{1,14}|[A-Z]{1,14}|[0-9]{1,8}", fullmatch=True)), st.sampled_from(" \n"))
def test_plain_prose_holds_no_secret_of_any_family(pieces, joint):
    """
    What the one test before all families lets pass, they all leave as it is.
    """
    text = joint.join(pieces)

    assert _text.pattern(families._PLAIN_PROSE).fullmatch(text)
    assert text == families.redact_encoded(families.redact_plain(text), families.redact_plain)


# ---- registered secrets and the environment


SECRET = "plain words & more/é'<\""


@pytest.mark.parametrize("separator", [",", ";", "|", "\t", "\\t", "\\\\t"])
@pytest.mark.parametrize(
    "around",
    ["{}", "row 1: {}", "'/srv/app/{}'", "No such file: 'C/{}'", "The file '/srv/{}' does not exist.", '("{}")'],
)
@pytest.mark.parametrize("end", ["\n", "\\n", "\\\\n"])
def test_a_table_is_redacted_wherever_it_is_quoted(separator, around, end):
    table = end.join(separator.join(row) for row in [("user", "password"), ("ann", "JGUZg7#TMtL#9zwC")])
    text = around.format(table)

    assert Redactor(environ={}).scrub(text, 2048) == text.replace("JGUZg7#TMtL#9zwC", "[redacted]")


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(SECRET, id="as it is"),
        pytest.param(quote(SECRET, safe=""), id="URL"),
        pytest.param(quote(SECRET), id="URL path"),
        pytest.param(quote_plus(SECRET), id="form"),
        pytest.param(re.sub("%..", lambda found: found[0].lower(), quote(SECRET, safe="")), id="URL, lower case"),
        pytest.param(re.sub("%..", lambda found: found[0].lower(), quote_plus(SECRET)), id="form, lower case"),
        pytest.param(quote(quote(SECRET, safe=""), safe=""), id="URL in URL"),
        pytest.param(base64.b64encode(SECRET.encode()).decode().rstrip("="), id="base64"),
        pytest.param(base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="), id="base64url"),
        pytest.param(json.dumps(SECRET)[1:-1], id="JSON"),
        pytest.param(json.dumps(SECRET, ensure_ascii=False)[1:-1], id="JSON, not escaped"),
        pytest.param(json.dumps(SECRET)[1:-1].replace("u00e9", "u00E9"), id="JSON, upper case"),
        pytest.param(json.dumps(json.dumps(SECRET))[3:-3], id="JSON in JSON"),
        pytest.param(json.dumps(SECRET)[1:-1].replace("/", "\\/"), id="JSON of PHP"),
        pytest.param(repr(SECRET)[1:-1], id="repr"),
        pytest.param(ascii(SECRET)[1:-1], id="ascii"),
        pytest.param(repr(SECRET.encode())[2:-1], id="bytes"),
        pytest.param(html.escape(SECRET), id="HTML"),
        pytest.param(html.escape(SECRET).replace("&#x27;", "&#39;"), id="HTML, decimal"),
        pytest.param(html.escape(SECRET).encode("ascii", "xmlcharrefreplace").decode(), id="HTML, ASCII"),
        pytest.param(SECRET.encode().hex(), id="hex"),
        pytest.param(SECRET.encode().hex().upper(), id="HEX"),
    ],
)
def test_a_registered_secret_goes_in_every_spelling(spelled):
    """
    A registered secret needs no look of its own.
    """
    redactor = Redactor([SECRET], environ={}, roots=[])

    assert f"upstream said {REMOVED}, twice {REMOVED}." == redactor.redact(f"upstream said {spelled}, twice {spelled}.")


@given(st.text(max_size=9), st.text(max_size=9))
def test_a_registered_secret_goes_from_base64_of_more(before, after):
    """
    Such as that of "user:secret"; less than two characters of it are left at either end.
    """
    redactor = Redactor(["correct horse"], environ={}, roots=[])
    shown = redactor.redact(base64.b64encode(f"{before}correct horse{after}".encode()).decode())

    assert REMOVED in shown
    assert not any(piece in shown for piece in ("b3JyZWN0IGhvcn", "cnJlY3QgaG9yc2", "9ycmVjdCBob3"))


@pytest.mark.parametrize("secret", ["", "abc", "    ", None, 12345])
def test_a_secret_that_is_too_short_is_refused_with_the_cure(secret):
    """
    Whoever passes an unset variable learns it when the guard is built.
    """
    with pytest.raises(ValueError, match="at least 4 characters.*leave out"):
        Redactor([secret], environ={})


def test_a_secret_inside_the_mark_does_no_harm():
    """
    The mark itself is not redacted.
    """
    redactor = Redactor(["redacted", "acte", "ed] x"], environ={})

    assert f"a {REMOVED} b {REMOVED} x" == redactor.redact(redactor.redact("a redacted b acte x"))


def test_the_longer_of_two_secrets_goes_first():
    """
    No rest of it is left behind.
    """
    redactor = Redactor(["abcd", "abcdefgh"], environ={})

    assert f"x {REMOVED} y" == redactor.redact("x abcdefgh y")


@pytest.mark.parametrize(
    ("name", "value", "goes"),
    [
        ("SERVICE_API_KEY", "swordfish1", True),
        ("DB_PASS", "swordfish1", True),
        ("DB_PASSWORD", "swordfish", True),
        ("PGPASSWORD", "swordfish", True),
        ("GITHUB_TOKEN", "swordfish1", True),
        ("TOKEN_A", "swordfish1", True),
        ("APP_SECRET", "swordfish1", True),
        ("SMTP_PWD", "swordfish1", True),
        ("GOOGLE_CREDENTIALS", "swordfish1", True),
        ("BASIC_AUTH", "ann:swordfish", True),
        ("WEBHOOK_SIGNATURE", "swordfish1", True),
        ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMIK7MDENG+bPxRfiCYz", True),
        ("DB_PASSWORD", "short", False),
        ("GOOGLE_CREDENTIALS", "/etc/google/credentials.json", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh-abc/agent.1", False),
        ("TOKENIZERS_PARALLELISM", "disabled", False),
        ("MAX_TOKENS_KEY", "12345678", False),
        ("SECRET_FILE", "swordfish1", False),
        ("AUTH_METHOD", "workload-identity", False),
        ("KEYBOARD_LAYOUT", "dvorak-programmer", False),
        ("CITY", "Reykjavik", False),
    ],
)
def test_a_value_of_the_environment_goes_if_its_name_looks_secret(name, value, goes):
    """
    Names decide; paths, numbers and short values stay.
    """
    redactor = Redactor(environ={name: value}, roots=[])

    assert f"upstream said {REMOVED if goes else value}." == redactor.redact(f"upstream said {value}.")


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("DATABASE_URL", "postgresql://app:Tr0ub4dor@db/shop", "Tr0ub4dor"),
        ("SENTRY_DSN", f"https://{HEX}@o1.ingest.example.com/2", HEX),
        ("GITHUB_PAT", "swordfish1", "swordfish1"),
        ("SLACK_WEBHOOK", "https://chat.example.com/in/T0/B0/xyzzy", "https://chat.example.com/in/T0/B0/xyzzy"),
        ("SLACK_WEBHOOK_URL", "https://chat.example.com/in/T0/B0/xyzzy", "https://chat.example.com/in/T0/B0/xyzzy"),
        ("HTTPS_PROXY", "http://app:Tr0ub4dor@proxy:3128", "Tr0ub4dor"),
        ("DB_PASSWORD", "hunt3r", "hunt3r"),
    ],
)
def test_a_secret_in_the_environment_goes_by_name_or_by_form(name, value, secret):
    """
    Short ones too, if no word looks like them; also from a URL that holds one.
    """
    redactor = Redactor(environ={name: value}, roots=[])

    assert f"upstream said {REMOVED}." == redactor.redact(f"upstream said {secret}.")
    assert f"upstream said {REMOVED}." == redactor.redact(f"upstream said {value}.")


def test_a_password_that_is_a_word_stays_in_prose():
    """
    Of a URL in the environment; else the name of a product would go from every text.
    """
    redactor = Redactor(environ={"DATABASE_URL": "postgresql://postgres:postgres@db/shop"}, roots=[])

    assert "postgres is down" == redactor.redact("postgres is down")


def test_a_secret_of_the_environment_that_comes_later_goes(monkeypatch):
    """
    The environment is read again when it has changed; what a text no longer needs is still looked for.
    """
    redactor = Redactor(roots=[])
    before = redactor.scrub("said swordfish-of-the-day", LIMIT)
    monkeypatch.setenv("TOOLFAULT_TEST_TOKEN", "swordfish-of-the-day")
    after = redactor.scrub("said swordfish-of-the-day", LIMIT)
    monkeypatch.setenv("TOOLFAULT_TEST_TOKEN", "herringbone-of-the-night")

    assert "said swordfish-of-the-day" == before
    assert f"said {REMOVED}" == after
    assert f"said {REMOVED} {REMOVED}" == redactor.redact("said swordfish-of-the-day herringbone-of-the-night")


def test_an_unchanged_environment_is_not_read_again(monkeypatch):
    """
    Each text asks, so the answer must cost next to nothing.
    """
    read = []
    redactor = Redactor(roots=[])
    monkeypatch.setattr(_redact, "secrets_in", lambda environ: read.append(environ) or set())
    for _ in range(100):
        redactor.redact("nothing here")
    monkeypatch.setenv("TOOLFAULT_TEST_CITY", "Oslo")
    redactor.redact("nothing here")

    assert 1 == len(read)


def test_an_environment_that_was_handed_in_is_read_once(monkeypatch):
    """
    Whoever hands one in decides what is in it.
    """
    monkeypatch.setenv("TOOLFAULT_TEST_TOKEN", "swordfish-of-the-day")

    assert "said swordfish-of-the-day" == Redactor(environ={}).redact("said swordfish-of-the-day")


# ---- the cut


@pytest.mark.parametrize("back", [1, 5, 20, 60, 200])
def test_a_secret_that_the_window_cuts_does_not_leave_by_half(back):
    """
    The unfinished last word is dropped.
    """
    secret = "ghp_" + ALNUM * 8
    text = "word " * (WINDOW // 5 - 80) + "x" * 400
    text = text[: WINDOW - back - 1] + " " + secret

    assert "ghp_" not in bare.scrub(text, LIMIT)


def test_a_registered_secret_with_spaces_does_not_leave_by_half():
    """
    What is known is recognised even unfinished.
    """
    secret = "correct horse battery staple " * 20
    text = "word " * (WINDOW // 5 - 60) + secret
    redactor = Redactor([secret], environ={})

    assert "battery" not in redactor.scrub(text, LIMIT)
    assert "battery" not in redactor.show(text, LIMIT)


def test_a_text_without_spaces_loses_its_end():
    """
    No more than that, so that one long word is still shown.
    """
    assert WINDOW - 256 == len(bare.scrub("a" * 5_000_000, LIMIT))


# ---- paths


@pytest.mark.parametrize(
    ("text", "known", "shown"),
    [
        ("No such file: '/srv/app/data/x.csv'", (), "No such file: 'x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["data/x.csv"], "No such file: 'data/x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["./data/x.csv"], "No such file: './data/x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["x.csv", "data/x.csv"], "No such file: 'data/x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["ta/x.csv"], "No such file: 'x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["/srv/app/data/x.csv"], "No such file: '/srv/app/data/x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["/srv/app/data"], "No such file: '/srv/app/data/x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["/", "", "/srv"], "No such file: 'x.csv'"),
        ("No such file: /srv/app/data/x.csv.", ["data/x.csv"], "No such file: data/x.csv."),
        ("No such file: '/srv/app/data/x.csv'", ["/srv/app"], "No such file: '/srv/app/data/x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["./data/x.csv", "data/x.csv"], "No such file: './data/x.csv'"),
        ("No such file: '/srv/app/data/x.csv'", ["data/x.csv", "./data/x.csv"], "No such file: './data/x.csv'"),
        ("in /srv/app/a.py:31, then /srv/app/b.py:4", (), "in a.py:31, then b.py:4"),
        ("in (/srv/app/data/a.py)", (), "in (a.py)"),
        ("cwd is /srv/app", (), "cwd is app"),
        ("/srv/app/my data/x y.csv", (), "my data/x y.csv"),
        ("'/srv/app/my data/x y.csv' is gone", (), "'x y.csv' is gone"),
        ("file:///srv/app/data/x.csv is gone", (), "file://x.csv is gone"),
        (
            "/srv/application/x and /etc/hosts and /srv/app2 stay",
            (),
            "/srv/application/x and /etc/hosts and /srv/app2 stay",
        ),
        ("https://example.com/srv/app/x stays", (), "https://example.com/srv/app/x stays"),
        (r"[WinError 2] 'C:\Users\ann\data\x.csv'", (), "[WinError 2] 'x.csv'"),
        (r"[WinError 2] 'C:\\Users\\ann\\data\\x.csv'", (), "[WinError 2] 'x.csv'"),
        (r"[WinError 2] 'c:\users\Ann\data\x.csv'", [r"data\x.csv"], r"[WinError 2] 'data\x.csv'"),
        ("[WinError 2] C:/Users/ann/data/x.csv", (), "[WinError 2] x.csv"),
        (r"D:\data\x.csv stays", (), r"D:\data\x.csv stays"),
    ],
)
def test_paths(text, known, shown):
    """
    Of a path below a root the caller sees what it wrote itself, or the file's name.
    """
    assert shown == bare.paths(text, known)


def test_the_known_roots_are_those_of_this_process(monkeypatch, tmp_path):
    """
    None means the working folder, the home, Python's own and the temporary folder.
    """
    (tmp_path / "place").mkdir()
    monkeypatch.chdir(tmp_path / "place")
    redactor = Redactor(environ={})

    assert "x.csv is gone" == redactor.paths(f"{tmp_path}/place/data/x.csv is gone")
    assert "x.csv is gone" == redactor.paths("/tmp/data/x.csv is gone")
    assert "json.py failed" == redactor.paths(f"{logging.__file__.rpartition('/')[0]}/json.py failed")
    assert "/data/x.csv is gone" == redactor.paths("/data/x.csv is gone")


def test_the_top_of_the_file_system_is_no_root(monkeypatch):
    """
    Else every path were below it.
    """
    monkeypatch.chdir("/")

    assert "/etc/hosts is gone" == Redactor(environ={}).paths("/etc/hosts is gone")
    assert "/etc/hosts is gone" == Redactor(environ={}, roots=["/", "", "/etc"]).paths("/etc/hosts is gone")


# ---- the whole pipeline


def test_scrub_does_all_of_it():
    """
    Controls, tracebacks, secrets, paths, size.
    """
    text = (
        "\x1b[31mUpload failed\x1b[0m for password=hunter2\n"
        "Traceback (most recent call last):\n"
        '  File "/srv/app/main.py", line 3, in upload\n'
        "    raise\n"
        "OSError: /srv/app/data/x.csv is gone"
    )

    assert f"Upload failed for password={REMOVED}\nOSError: x.csv is gone" == bare.scrub(text, LIMIT)
    assert "Upload failed for…" == bare.scrub(text, 20)


def test_a_zero_width_character_hides_no_secret():
    """
    Characters are cleaned before secrets are looked for.
    """
    assert f"password={REMOVED} x" == bare.scrub("pass\u200bword=hun\u200bter2 x", LIMIT)


def test_a_registered_secret_that_cleaning_changes_goes_all_the_same():
    """
    It is looked for as it was registered, too.
    """
    redactor = Redactor(["se<b>cret</b>1", "se\u0301cret-2"], environ={})

    assert f"a {REMOVED} b {REMOVED}" == redactor.scrub("a se<b>cret</b>1 b se\u0301cret-2", LIMIT)


def test_show_removes_registered_secrets_only():
    """
    For whoever asked to see everything.
    """
    redactor = Redactor(["swordfish"], environ={"A_TOKEN": "herringbone"}, roots=["/srv/app"])
    text = "<b>swordfish</b> herringbone password=hunter2 /srv/app/x\x00"

    assert f"<b>{REMOVED}</b> herringbone password=hunter2 /srv/app/x" == redactor.show(text, LIMIT)
    assert "<b>[redac…" == redactor.show(text, 12)


def test_extra_has_the_last_word():
    """
    It sees what the redactor left.
    """
    redactor = Redactor(environ={}, extra=lambda text: text.replace("Oslo", "a city"))

    assert f"a city, password={REMOVED}" == redactor.scrub("Oslo, password=hunter2", LIMIT)


def failing(text):
    raise RuntimeError(text)


@pytest.mark.parametrize("extra", [failing, lambda text: None, lambda text: text.encode()])
def test_nothing_leaves_if_extra_fails(extra, caplog):
    """
    The text is replaced as a whole, and one warning says why, without the text.
    """
    redactor = Redactor(environ={}, extra=extra)

    assert [REMOVED, REMOVED] == [redactor.scrub("Oslo", LIMIT), redactor.scrub("Bergen", LIMIT)]
    assert 1 == len(caplog.records)
    assert "toolfault" == caplog.records[0].name
    assert "Oslo" not in caplog.text


def test_a_redactor_does_not_change():
    """
    No attribute can be added or set.
    """
    with pytest.raises(AttributeError):
        bare.secrets = ()


def test_threads_share_a_redactor():
    """
    Nothing is kept between two texts.
    """
    results = []

    def work():
        results.append([bare.redact(sentence.format(secret)) for _, sentence, secret in PLANTED])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 4 * [[sentence.format(REMOVED) for _, sentence, _ in PLANTED]] == results


# ---- any text


ANY = st.text(alphabet=st.characters(exclude_categories=()))
PIECES = st.lists(
    st.sampled_from(
        [
            *" \t\n\"'`=:;,&?@/\\<>[](){}-_.%+#$\x1b\x9d",
            *(
                "=>",
                ":=",
                "://",
                "--",
                "password",
                "token",
                "key",
                "api_key",
                "Authorization",
                "Bearer ",
                "Cookie",
                "code",
            ),
            *(
                "https://",
                "a:b@",
                "eyJ",
                "eyJhbGciOiJIUzI1NiJ9.",
                "sk-",
                "ghp_",
                ALNUM,
                HEX,
                "AKIA",
                "-----BEGIN ",
                "-----END ",
            ),
            *(
                "PRIVATE KEY-----",
                REMOVED,
                "redacted",
                "hunter2",
                "is",
                "x",
                "-u ",
                "/srv/app",
                "swordfish",
                "expires=",
                "session",
            ),
            *("hunter2hunter2", "Tr0ub4dor&3x", "->", " is ", "name: ", "value: ", "values ('", "identified by '"),
            *("%22", "%3A", "%2520", "&quot;", "&amp;quot;", "\\u0070", "-p", "mysql ", "app:", "tcp(", "passwords: ["),
            *("mnemonic: ", "witch collapse practice feed shame open despair creek ", "pin=4711", "login "),
            *("LS0tLS1CRUdJTi", "Private-Lines: 2\n", ALNUM + "x" * 24 + "\n", "auth=('a', '", "<add key='", "\x1b["),
        ]
    ),
    max_size=30,
).map("".join)
busy = Redactor(["swordfish", "redacted"], environ={"A_KEY": "x=password"}, roots=["/srv/app"])


@given(ANY | PIECES, st.integers(0, 200))
def test_scrub_takes_any_text(text, limit):
    """
    It never raises, and what it returns is UTF-8 within the limit.
    """
    assert limit >= len(busy.scrub(text, limit).encode())
    assert limit >= len(busy.show(text, limit).encode())


@given(ANY | PIECES)
def test_redact_is_idempotent(text):
    """
    Whatever the text is made of.
    """
    once = busy.redact(text)

    assert once == busy.redact(once)


@given(ANY | PIECES)
def test_a_registered_secret_never_leaves(text):
    """
    Whatever stands around it.
    """
    assert "swordfish" not in busy.redact(f"{text}swordfish{text}")
    assert "swordfish" not in busy.scrub(f"{text}swordfish", LIMIT)


# ---- time

#: Texts that repeat what makes a family begin to read.
HOSTILE = [
    "password ",
    "password: ",
    "password=",
    "password\n",
    "password [",
    "'password',",
    "password for user x ",
    "secret secret ",
    "token ",
    "key: ",
    "&k=a1",
    "authorization: ",
    "[['x-api-key', ",
    "name: password value: ",
    "values ('a', ",
    "<a name='k'>",
    "mysql -p x1y2z3 ",
    "user:a@",
    "://a:",
    "echo a ",
    "echo a|",
    "htpasswd -b a ",
    "password,a\n",
    "credentials ('a', ",
    "AWSALB=",
    "<<< sudo -S ",
    "%22",
    "%3A",
    "&quot;",
    "\\u0070",
    "\x1b[",
    "A" * 64 + "\n",
    "LS0tLS1CRUdJTi",
    "eyJ",
    "s.",
    "a-",
    "[a,",
]

#: The functions that look at a value or at a name; each character that one is handed is one unit of work.
JUDGES = ("is_secret", "is_sentence", "looks_chosen", "looks_random", "is_mixed", "is_prose")


def work_on(text, monkeypatch):
    """
    How many characters the judges of names and values are handed for a text.
    """
    done = 0

    def counting(judge):
        def counted(value, *args, **kwargs):
            nonlocal done
            # A judge of prose is handed the text and the range in it.
            done += args[1] - args[0] if judge.__name__ == "is_prose" else len(value)
            return judge(value, *args, **kwargs)

        return counted

    with monkeypatch.context() as patched:
        for module in (adjacent, commands, named, tokens, urls, keys):
            for name in JUDGES:
                if hasattr(module, name):
                    patched.setattr(module, name, counting(getattr(words, name)))
        families.redact_plain(text)
    return done


@pytest.mark.parametrize("piece", HOSTILE)
def test_twice_the_text_is_twice_the_work(piece, monkeypatch):
    """
    No part of a text is read again for each of its other parts.
    """
    half = (piece * WINDOW)[: WINDOW // 2]
    once, twice = work_on(half, monkeypatch), work_on(half + half, monkeypatch)

    assert twice <= 2.2 * once + 256
    assert twice <= 8 * WINDOW


#: Patterns in which something follows a repetition without a bound, and why that costs nothing.
STOPS = {
    "_BARE_WORD": 'what follows is "=", which the repetition can\'t hold',
    "_ELEMENT": 'what follows is "<", which the repetition can\'t hold',
    "_JWT": 'what follows is ".", which the repetition can\'t hold, and all of it may be missing',
    "_RANDOM": "only values are matched, each once and as a whole",
    "_STANDS_FOR_ANOTHER": "only values of at most 64 characters are matched",
    "_WORD": "one capital is given back, no more",
}


def endless(parsed, *, followed=False):
    """
    Yield the repetitions without a bound that can give back what they took, and are not the last thing.
    """
    items = list(parsed)
    for place, (op, arguments) in enumerate(items):
        goes_on = followed or place + 1 < len(items)
        if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            _, most, inside = arguments
            if most is _constants.MAXREPEAT and goes_on and op is not _constants.POSSESSIVE_REPEAT:
                yield items[place]
            yield from endless(inside, followed=goes_on or most > 1)
        elif op is _constants.SUBPATTERN:
            yield from endless(arguments[-1], followed=goes_on)
        elif op is _constants.BRANCH:
            for branch in arguments[1]:
                yield from endless(branch, followed=goes_on)
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            yield from endless(arguments[1])


#: The modules whose patterns run on texts of strangers.
MODULES = (_text, _redact, adjacent, commands, encoded, families, keys, named, paths, registered, tokens, urls, words)

SOURCES = {
    f"{module.__name__}.{name}": source
    for module in MODULES
    for name, source in vars(module).items()
    if name.startswith("_") and name.isupper() and isinstance(source, str) and name != "_HEADER"
} | {f"toolfault._redact.named._QUOTED {quote}": source for quote, source in named._QUOTED.items()}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_no_pattern_can_be_made_slow(name):
    """
    A repetition has a bound, is possessive, or is the last thing; those that are neither are listed with the reason.
    """
    found = list(endless(_parser.parse(SOURCES[name])))

    assert bool(found) == (name.rpartition(".")[2] in STOPS and name != "toolfault._text._ELEMENT")


def test_patterns_are_compiled_when_they_are_needed():
    """
    An import compiles none.
    """
    code = "import toolfault._redact, toolfault._text as t; print(t.pattern.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "0" == done.stdout.strip()
