"""
Hook of MkDocs: pages of the repository that are not in `docs/`, and links between them.

The pages keep links that work in a checkout. The site has the same folders below its root, but for
the contents of `docs/`, which are the root itself.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page


ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"

#: Files outside docs/ that are on the site, under the same path.
OUTSIDE: Final = (
    "CHANGELOG.md",
    "LICENSE",
    "SECURITY.md",
    "example_server/README.md",
    "specs/*.md",
    "specs/*.json",
    "specs/tables/*.json",
    "specs/vectors/**/*.json",
    "specs/examples/envoy.yaml",
    "specs/examples/typescript/README.md",
    "specs/examples/typescript/src/*.ts",
)

#: Folders that pages link to; each gets a page that lists its files.
FOLDERS: Final = (
    "example_server",
    "specs/examples/typescript",
    "specs/tables",
    "specs/vectors",
    "specs/vectors/a2a",
    "specs/vectors/a2c-smcp",
    "specs/vectors/bridge",
    "specs/vectors/protocol-droid",
)

#: Sections of the README that are pages of the site, by the page's path.
SECTIONS: Final = {"works-with.md": "What it works with", "why-not.md": "Why not …"}

#: How links of the README begin, which are read elsewhere, too.
_REPOSITORY: Final = "https://github.com/toolfault/toolfault/blob/main/"

_LINK: Final = re.compile(
    rf"(\]\()(?!mailto:|#)((?:{re.escape(_REPOSITORY)})?[^):#\s]+)(#[^)\s]*)?(\))"
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """
    Replace each pattern in the navigation by the pages that match it, the index first.
    """
    config.nav = _expand(config.nav or [])
    return config


def _expand(entries: list[Any]) -> list[Any]:
    expanded: list[Any] = []
    for entry in entries:
        if isinstance(entry, str):
            expanded += _pages(entry) if "*" in entry else [entry]
            continue
        ((title, target),) = entry.items()
        expanded.append({title: _expand(target) if isinstance(target, list) else target})
    return expanded


def _pages(pattern: str) -> list[str]:
    names = [path.relative_to(DOCS).as_posix() for path in DOCS.glob(pattern)]
    return sorted(names, key=lambda name: (not name.endswith("index.md"), name))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """
    Add the pages outside docs/, and a list of files for each folder that is linked.
    """
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    for name, title in SECTIONS.items():
        files.append(File.generated(config, name, content=_readme_section(title)))
    for folder in FOLDERS:
        if files.get_file_from_path(f"{folder}/README.md") is None:
            name = f"{folder}/index.md"
            listing = File.generated(config, name, content=_listing(ROOT / folder))
            listing.inclusion = InclusionLevel.NOT_IN_NAV
            files.append(listing)
    return files


def _readme_section(title: str) -> str:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    _, heading, after = readme.partition(f"\n## {title}\n")
    if not heading:
        raise PluginError(f"the README has no section {title!r}; see SECTIONS in docs/_site.py")
    section = after.partition("\n## ")[0]
    return f"# {title}\n{section}\n"


def _listing(folder: Path) -> str:
    names = sorted(path.name for path in folder.glob("*.json"))
    links = "\n".join(f"* [{name}]({name})" for name in names)
    return f"# {folder.relative_to(ROOT).as_posix()}\n\n{links}\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 -- MkDocs passes them by name
    """
    Return a page whose links to files of the checkout lead to their pages on the site.
    """
    return _LINK.sub(lambda link: _site_link(link, page.file.src_uri, files), markdown)


def _site_link(link: re.Match[str], page: str, files: Files) -> str:
    opening, target, anchor, closing = link.groups(default="")
    path = target.removeprefix(_REPOSITORY)
    place = _on_site(_in_checkout(page) if path == target else "", path)
    for candidate in (place, f"{place}/README.md", f"{place}/index.md"):
        if files.get_file_from_path(candidate):
            relative = posixpath.relpath(candidate, posixpath.dirname(page) or ".")
            return f"{opening}{relative}{anchor}{closing}"
    return link[0]


def _in_checkout(page: str) -> str:
    """
    Return the path of a page's source in the checkout.
    """
    return page if (ROOT / page).exists() else f"docs/{page}"


def _on_site(source: str, target: str) -> str:
    """
    Return the place on the site of a link's target, as written in a source of the checkout.
    """
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return path.removeprefix("docs/")
