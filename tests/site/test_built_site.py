"""
The site as it was built: `make docs` builds it and runs this.
"""

import html
import importlib
import json
import re
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
PAGES = sorted(SITE.rglob("*.html"))

#: The modules that can be imported here, where no framework is installed.
MODULES = [
    "toolfault",
    "toolfault.dialects",
    "toolfault.dialects.a2a",
    "toolfault.dialects.a2a.protocol_droid",
    "toolfault.dialects.a2c_smcp",
    "toolfault.dialects.google_rpc",
    "toolfault.dialects.jsonrpc",
    "toolfault.dialects.problem_json",
    "toolfault.dialects.tool_failure",
    "toolfault.errors",
    "toolfault.hooks",
    "toolfault.hosting",
    "toolfault.integrations.mcp",
    "toolfault.rules",
    "toolfault.rules.http",
    "toolfault.testing",
]


def index():
    """
    The search index, as the page loads it from a file or from a server.
    """
    text = (SITE / "search" / "search_index.json").read_text()
    return json.loads(text)["docs"]


def reference():
    return "".join(page.read_text() for page in (SITE / "reference").glob("*.html"))


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_shows_all_that_a_module_exports(module):
    page = reference()
    names = importlib.import_module(module).__all__

    assert [name for name in names if f'id="{module}.{name}' not in page] == []


@pytest.mark.parametrize(
    ("owner", "values"),
    [
        ("toolfault.Disclosure", ["REDACTED", "WITHHELD", "FULL"]),
        ("toolfault.Guidance", ["BLOCK", "INLINE", "NONE"]),
        ("toolfault.McpErrorCategory", ["TRANSIENT", "PERMANENT", "VALIDATION", "AUTH", "UNKNOWN"]),
    ],
)
def test_the_reference_explains_each_value_of_an_enumeration(owner, values):
    page = reference()

    assert [value for value in values if f'id="{owner}.{value}"' not in page] == []


def test_the_reference_explains_why_attempts_stop():
    text = html.unescape(re.sub(r"<[^>]+>", "", (SITE / "reference" / "hooks.html").read_text()))

    for value in ("success", "no_failure", "not_retryable", "not_safe", "attempts", "hint", "deadline", "budget"):
        assert f"{value}: " in text


def test_nothing_is_loaded_from_another_place():
    """
    A link may lead elsewhere; a script, a style, a font or a picture may not.
    """
    loads = re.compile(r"""<(?:script|img|iframe)[^>]*\bsrc=["']?((?:https?:)?//[^"' >]+)""")
    links = re.compile(r"<link\b[^>]*>")
    for page in PAGES:
        text = page.read_text()
        styles = [link for link in links.findall(text) if "canonical" not in link and "//" in link]
        assert (page.relative_to(SITE), loads.findall(text), styles) == (page.relative_to(SITE), [], [])
    for style in SITE.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]+\)", style.read_text()) == []


@pytest.mark.parametrize("query", ["retry_after", "retry_after_seconds", "WITHHELD", "not_safe", "sqlite"])
def test_the_search_index_has_it(query):
    assert any(query in entry["text"] or query in entry["title"] for entry in index())


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("quota_exceeded", "codes/quota_exceeded.html"),
        ("WITHHELD", "guides/security.html"),
        ("retry_after_seconds", "reference/toolfault.html"),
    ],
)
def test_the_search_index_leads_to_the_page(query, page):
    found = {entry["location"].partition("#")[0] for entry in index() if query in entry["text"] + entry["title"]}

    assert page in found


def test_pages_have_titles_of_their_own():
    titles = [
        re.search(r"<title>(.*?)</title>", page.read_text(), re.DOTALL)[1] for page in PAGES if page.name != "404.html"
    ]

    assert len(titles) == len(set(titles))


@pytest.mark.parametrize(("page", "text"), [("works-with.html", "FastMCP 4.2"), ("why-not.html", "tenacity")])
def test_sections_of_the_readme_are_pages(page, text):
    assert text in (SITE / page).read_text()


def test_no_link_leads_out_to_a_page_that_is_here():
    for page in PAGES:
        for target in re.findall(r'href="https://github\.com/toolfault/toolfault/blob/main/([^"#]+)', page.read_text()):
            here = target.removeprefix("docs/").removesuffix(".md").replace("README", "index")
            assert not (SITE / f"{here}.html").exists(), (page, target)
