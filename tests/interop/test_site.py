"""
The site of documentation in a headless Chromium, which npm brings: from a folder, and over HTTP.

`make docs` builds the site.
"""

import functools
import json
import shutil
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


FOLDER = Path(__file__).parent / "node" / "page"
SITE = Path(__file__).parents[2] / "build" / "site"

PAGES = [
    "index.html",
    "quickstart.html",
    "judgement.html",
    "tables.html",
    "fleet.html",
    "guides/clients.html",
    "cookbook/sql.html",
    "codes/quota_exceeded.html",
    "reference/toolfault.html",
    "specs/index.html",
    "checks/index.html",
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module", params=["file", "http"])
def opened(request, server, tmp_path_factory):
    """
    What the browser saw.
    """
    if shutil.which("npm") is None:
        pytest.skip("the site is not opened: npm is not on this machine")
    if not SITE.is_dir():
        pytest.skip("the site is not opened: make docs did not build it")
    if not (FOLDER / "node_modules").is_dir():
        words = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        subprocess.run(words, cwd=FOLDER, check=True, capture_output=True, timeout=600)
    base = SITE.as_uri() if request.param == "file" else server
    shots = str(tmp_path_factory.mktemp("site"))
    ended = subprocess.run(
        ["node", "site.mjs", base, "retry_after", *PAGES, "--shots", shots],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_no_page_complains_or_loads_from_elsewhere(opened):
    assert len(opened) == 2 * (len(PAGES) + 1)
    for seen in opened:
        assert (seen["name"], seen["complaints"], seen["foreign"]) == (seen["name"], [], [])


def test_every_page_fits_a_desk_and_a_phone(opened):
    assert [(seen["name"], seen["width"]) for seen in opened if seen.get("overflow", 0) > 0] == []


def test_the_search_finds_retry_after(opened):
    searches = [seen for seen in opened if seen["name"] == "search"]

    assert [seen["width"] for seen in searches] == [1280, 390]
    for seen in searches:
        assert any("/reference/toolfault.html" in result for result in seen["results"])
