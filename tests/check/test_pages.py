"""
The pages of the checks: their frames are what the table says, and their examples are judged as they claim.
"""

import importlib.util
from pathlib import Path

import pytest

from check_pages import examples, outcome
from toolfault.check._model import CHECKS, CHECKS_BY_ID, INFORMATION, Outcome


ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "checks"
IDS = list(CHECKS_BY_ID)


@pytest.fixture(scope="module")
def script():
    """
    The program that writes the frames, as a module.
    """
    spec = importlib.util.spec_from_file_location("write_checks", ROOT / "tests" / "write_checks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_of(check):
    return (FOLDER / f"{check}.md").read_text(encoding="utf-8")


def test_the_frames_are_what_the_table_says(script):
    for path, text in script.pages():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run: python tests/write_checks.py"


def test_each_check_has_a_page_and_each_page_a_check():
    assert {path.stem for path in FOLDER.glob("*.md")} == {*IDS, "index"}


@pytest.mark.parametrize("check", IDS)
def test_each_page_has_the_same_sections(check):
    assert list(examples(page_of(check))) == ["What it asks", "Bad", "Good", "How to mend it"]


@pytest.mark.parametrize("check", IDS)
def test_the_bad_example_does_not_pass_and_the_page_says_why(check):
    page = page_of(check)
    bad = examples(page)["Bad"]
    expected = Outcome.WARN if CHECKS_BY_ID[check].level == INFORMATION else Outcome.FAIL

    assert bad
    for example in bad:
        result = outcome(check, example)
        assert result.outcome is expected
        for finding in result.findings:
            assert f"> {finding.fault}" in page


@pytest.mark.parametrize("check", IDS)
def test_the_good_example_passes(check):
    good = examples(page_of(check))["Good"]

    assert good
    for example in good:
        assert outcome(check, example).outcome is Outcome.PASS


def test_each_level_is_on_the_index(script):
    index = (FOLDER / "index.md").read_text(encoding="utf-8")

    assert index.count("\n| ") == len(CHECKS) + 2
