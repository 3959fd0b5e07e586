"""
The specification is well-formed, and says what the code does: its data has tests of its own.
"""

from __future__ import annotations

import ast
import copy
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from toolfault import _codes
from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode
from toolfault._envelope import McpExecuteError
from toolfault._names import META_KEY
from toolfault._wire import Guidance, last_resort, to_result
from toolfault.errors import ToolFault


SPECS = Path(__file__).parents[1] / "specs"
DOCS = [SPECS.with_name("docs") / name for name in ("decisions.md", "fleet.md")]
PAGES = [*sorted(SPECS.glob("*.md")), *DOCS]
DATA = sorted(path for path in SPECS.rglob("*.json") if "examples" not in path.parts)
SUITES = [path for path in DATA if path.parent.name == "vectors" and path.name != "suite.schema.json"]

#: Which letter the rules of which page have.
LETTERS = {
    "envelope.md": "E",
    "result.md": "W",
    "classify.md": "C",
    "redaction.md": "S",
    "retry.md": "R",
    "bridge.md": "B",
    "a2c-smcp.md": "A",
    "a2a.md": "G",
}

MATCHERS = {"non-empty-string", "starts-with", "carries", "at-most-bytes"}


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(SPECS if path.is_relative_to(SPECS) else SPECS.parent).as_posix()


def text_of(page: str) -> str:
    return (SPECS / page).read_text(encoding="utf-8")


def rules_in(text: str) -> list[str]:
    return re.findall(r"^\*\*([A-Z]\d+)\.\*\* ", text, re.MULTILINE)


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text_of(page), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no section {title!r}"
    return found[1]


def blocks_in(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def validator(name: str) -> Draft202012Validator:
    resources = [Resource.from_contents(load(path)) for path in DATA if path.name.endswith(".schema.json")]
    return Draft202012Validator(load(SPECS / name), registry=resources @ Registry())


def complaints(name: str, value: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(value)]


def matchers_in(value: object) -> list[object]:
    if isinstance(value, dict):
        inner = list(itertools.chain.from_iterable(matchers_in(item) for item in value.values()))
        return [value["$match"], *inner] if "$match" in value else inner
    if isinstance(value, list):
        return list(itertools.chain.from_iterable(matchers_in(item) for item in value))
    return []


def specials_in(value: object) -> set[str]:
    """
    Return the names of the special values in a case, matchers aside.
    """
    if isinstance(value, list):
        return set().union(*map(specials_in, value))
    if not isinstance(value, dict):
        return set()
    special = {name for name in value if name.startswith("$") and len(value) == 1}
    return special.union(*map(specials_in, value.values()))


#: Special values of inputs; ``$ref`` stands in schemas, and is none.
SPECIALS = {"$repeat", "$join", "$number", "$match", "$ref", "$defs"}


CASES = [(load(path), case) for path in SUITES for case in load(path)["cases"]]
EVERY_RULE = [rule for page in PAGES for rule in rules_in(page.read_text(encoding="utf-8"))]


# ---------------------------------------------------------------- pages


@pytest.mark.parametrize("page", LETTERS)
def test_rules_are_numbered_without_gaps(page):
    """
    Rule n of a page stands in its n-th place, under the page's letter.
    """
    rules = rules_in(text_of(page))

    assert [f"{LETTERS[page]}{number}" for number in range(1, len(rules) + 1)] == rules


def test_no_rule_has_the_name_of_another():
    """
    A rule's name means one paragraph in all pages.
    """
    assert len(set(EVERY_RULE)) == len(EVERY_RULE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_rules_that_are_named_exist(page):
    """
    No page refers to a rule that is not there.
    """
    named = set(re.findall(r"\b([EWCRBAGS][1-9]\d?)\b", page.read_text(encoding="utf-8")))

    assert set() == named - set(EVERY_RULE)


@pytest.mark.parametrize("page", LETTERS)
def test_the_readme_counts_the_rules(page):
    """
    The table of the README says how many rules a page has.
    """
    letter, count = LETTERS[page], len(rules_in(text_of(page)))

    assert f"| [{page}]({page}) | {letter}1 to {letter}{count}: " in text_of("README.md")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    """
    A link to a file beside leads to one.
    """
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_json_in_pages_is_json(page):
    """
    What looks like JSON can be copied.
    """
    for block in blocks_in(page, "json"):
        json.loads(block)


def test_the_examples_are_what_they_show():
    """
    The envelope that opens its page is one, the result is what the writer makes, and the case stands in its suite.
    """
    (envelope,) = blocks_in(SPECS / "envelope.md", "json")
    result = json.loads(blocks_in(SPECS / "result.md", "json")[0])
    (case,) = blocks_in(SPECS / "runner.md", "json")
    facts = {key: value for key, value in result["_meta"][META_KEY].items() if key not in {"v", "outcome"}}
    fault = ToolFault.of(McpExecuteError.from_wire(result["structuredContent"]), outcome="unknown", facts=facts)

    assert complaints("envelope.schema.json", json.loads(envelope)) == []
    assert to_result(fault) == result
    assert json.loads(case) in [case for _, case in CASES]


@pytest.mark.parametrize("page", ["envelope.md", "result.md", "classify.md", "redaction.md", "retry.md"])
def test_rules_speak_no_particular_language(page):
    """
    An implementer who has never seen Python misses nothing.
    """
    words = re.findall(
        r"\b(?:python|pydantic|None|True|False|dict|tuple|str|timedelta|enum|asyncio|pip)\b|\w+Error\b|__\w+",
        text_of(page),
    )

    assert [word for word in words if word not in {"McpExecuteError", "isError"}] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_prose_has_one_sentence_per_line(page):
    """
    Semantic newlines: a line holds one sentence, so that a change shows as one.
    """
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = [line for line in text.splitlines() if line and not line.startswith(("|", "#"))]
    several = [
        line
        for line in prose
        if re.search(r"[a-z)`][.?!] [A-Z]", re.sub(r"^\*\*\w+\.\*\* |^\*\*[\w ]+\.\*\* |\(.*?\)", "", line))
    ]

    assert several == []


def test_dismissed_options_have_four_answers():
    """
    Each says why it was considered, why it was dropped, what is done instead, and what would reopen it.
    """
    page = SPECS.with_name("docs") / "decisions.md"
    _, *entries = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    answers = [
        re.findall(r"^\*\*(Why considered|Why dismissed|Instead|May revisit when)(?:\.\*\*|\*\*)", entry, re.MULTILINE)
        for entry in entries
    ]

    assert len(entries) >= 12
    assert [["Why considered", "Why dismissed", "Instead", "May revisit when"]] * len(entries) == answers


# ---------------------------------------------------------------- data


@pytest.mark.parametrize("path", DATA, ids=name_of)
def test_json_files_are_formatted(path):
    """
    Two spaces, ASCII, a newline at the end.
    """
    assert json.dumps(load(path), indent=2) + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [path for path in DATA if path.name.endswith(".schema.json")], ids=name_of)
def test_schemas_are_schemas(path):
    """
    Each schema is valid JSON Schema 2020-12.
    """
    schema = load(path)

    Draft202012Validator.check_schema(schema)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://toolfault.github.io/specs/{name_of(path)}"


def meanings(name: str) -> dict[str, str]:
    """
    Return wire string to docstring of an enum's members, with members named as on the wire.
    """
    tree = ast.parse(Path(_codes.__file__).read_text(encoding="utf-8"))
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return {
        member.value.value: re.sub(
            r"`([A-Z_]+)`", lambda found: f"`{found[1].lower()}`", " ".join(doc.value.value.split())
        )
        for member, doc in itertools.pairwise(body)
        if isinstance(member, ast.Assign)
    }


def test_codes_are_the_codes():
    """
    The vocabulary as data is the vocabulary of the code: words, order, meanings, defaults.
    """
    said = meanings("McpErrorCode")
    codes = [
        {
            "code": code.value,
            "meaning": said[code.value],
            "category": DEFAULTS[code][0].value,
            "retryable": DEFAULTS[code][1],
        }
        for code in McpErrorCode
    ]

    assert codes == load(SPECS / "codes.json")["codes"]


def test_categories_are_the_categories():
    """
    So are the categories.
    """
    said = meanings("McpErrorCategory")

    assert [{"category": category.value, "meaning": said[category.value]} for category in McpErrorCategory] == load(
        SPECS / "codes.json"
    )["categories"]


def test_the_page_shows_the_same_tables():
    """
    The tables of envelope.md are the data once more.
    """
    data = load(SPECS / "codes.json")
    codes = [
        f"| `{c['code']}` | `{c['category']}` | {json.dumps(c['retryable'])} | {c['meaning']} |" for c in data["codes"]
    ]
    categories = [f"| `{c['category']}` | {c['meaning']} |" for c in data["categories"]]

    assert "\n".join(codes) in text_of("envelope.md")
    assert "\n".join(categories) in text_of("envelope.md")


# ---------------------------------------------------------------- suites


@pytest.mark.parametrize("path", SUITES, ids=name_of)
def test_suites_pass_their_schema(path):
    """
    Header, cases, inputs and expectations have the shape that a runner in another language relies on.
    """
    assert complaints("vectors/suite.schema.json", load(path)) == []


@pytest.mark.parametrize("path", SUITES, ids=name_of)
def test_a_suite_is_one_operation(path):
    """
    The file, the suite and every case name the same operation.
    """
    suite = load(path)

    assert {path.stem} == {suite["suite"], *(case["input"]["op"] for case in suite["cases"])}
    assert (SPECS / suite["spec"]).exists()


def test_the_schema_of_suites_refuses():
    """
    A schema that takes everything would prove nothing.
    """
    good = load(SPECS / "vectors" / "new.json")
    spoilt = []
    for change in (
        lambda suite: suite.update(reason="A reason that is long enough but not wanted here."),
        lambda suite: suite.update(ours=False),
        lambda suite: suite.update(suite="classify"),
        lambda suite: suite["cases"][0].update(basis="hearsay"),
        lambda suite: suite["cases"][0]["input"].update(massage="m"),
        lambda suite: suite["cases"][0]["expect"]["json"].update(cause_chain=[]),
        lambda suite: suite["cases"][0].pop("why"),
    ):
        spoilt.append(suite := copy.deepcopy(good))
        change(suite)

    assert [suite for suite in spoilt if not complaints("vectors/suite.schema.json", suite)] == []


def test_counts():
    """
    At least 400 cases, of which ten are somebody else's; each with the reason.
    """
    suites = [load(path) for path in SUITES]
    not_ours = [suite for suite in suites if not suite["ours"]]

    assert len(CASES) >= 400
    assert [(suite["suite"], len(suite["cases"])) for suite in not_ours] == [("endpoint", 10)]
    assert all(suite["reason"].endswith(".") for suite in not_ours)


def test_names_of_cases_are_unique():
    """
    A name means one case in all suites.
    """
    names = [case["case"] for _, case in CASES]

    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("suite", "case"), CASES, ids=[case["case"] for _, case in CASES])
def test_a_case_names_rules_that_exist(suite, case):
    """
    Who sees a red case finds the paragraph.
    """
    assert (SPECS / suite["spec"]).is_file()
    assert set() == {case["rule"], *case.get("also", ())} - set(EVERY_RULE)
    assert case["rule"] not in case.get("also", ())


def untestable():
    """
    The rules that the page on conformance excepts, with ranges written out.
    """
    cells = re.findall(
        r"^\| ([A-Z]\d[^|]*) \| [^|]{20,} \|$", section("conformance.md", "Rules without a case"), re.MULTILINE
    )
    for part in ", ".join(cells).split(", "):
        first, _, last = part.partition(" to ")
        letter, numbers = first[0], (int(first[1:]), int((last or first)[1:]))
        yield from (f"{letter}{number}" for number in range(numbers[0], numbers[1] + 1))


def test_every_rule_has_a_case_or_a_reason_for_none():
    """
    No rule is only words; and a case names the rules that it is about.
    """
    every_case = [case for path in (SPECS / "vectors").rglob("*.json") for case in load(path).get("cases", ())]
    cased = {rule for case in every_case for rule in (case["rule"], *case.get("also", ()))}
    excepted = list(untestable())

    assert set(EVERY_RULE) - cased == set(excepted)
    assert len(excepted) == len(set(excepted))
    assert cased <= set(EVERY_RULE)
    assert all(case["why"] for case in every_case)


def test_the_cases_notice_each_broken_rule():
    """
    As the README says; a rule that cases name is broken by a mutant, or has a reason why not.
    """
    run = subprocess.run(
        [sys.executable, Path(__file__).with_name("spec_mutants.py")], capture_output=True, text=True, timeout=600
    )
    *lines, last = run.stdout.splitlines()
    noticed, of = map(int, re.findall(r"\d+", last)[:2])

    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert f"notice {noticed} of {of} mutants" in text_of("README.md")
    broken = {rule for line in lines if not line.startswith("not broken") for rule in rules_between(line[9:19])}
    assert cased_rules() - broken == set(re.findall(r"^not broken ([A-Z]\d+)", run.stdout, re.MULTILINE))


def rules_between(text):
    """
    The rules in a text such as "E17 E1", "W12.3" or "S3 to S8".
    """
    found = re.findall(r"([A-Z])(\d+)", text)
    if " to " in text:
        letter, first, last = found[0][0], int(found[0][1]), int(found[1][1])
        return {f"{letter}{number}" for number in range(first, last + 1)}
    return {f"{letter}{number}" for letter, number in found}


def cased_rules():
    """
    The rules that a case names which this library runs.
    """
    suites = [load(path) for path in (SPECS / "vectors").rglob("*.json") if path.name != "suite.schema.json"]
    ours = [case for suite in suites if suite["ours"] for case in suite["cases"]]
    return {rule for case in ours for rule in (case["rule"], *case.get("also", ()))}


@pytest.mark.parametrize("path", SUITES, ids=name_of)
def test_why_is_said_once(path):
    """
    Two cases with the same reason would be one case.
    """
    whys = [case["why"] for case in load(path)["cases"]]

    assert len(set(whys)) == len(whys)


@pytest.mark.parametrize("why", [pytest.param(case["why"], id=case["case"]) for _, case in CASES])
def test_why_is_a_sentence_in_the_indicative(why):
    """
    It says what is so; a wish or a task is no reason.
    """
    assert why[0].isupper()
    assert why.endswith(".")
    assert not re.search(r"[.!?] ", why)
    assert not re.search(r"\b(?:should|must|ought|test that|make sure|ensure|verify|check that)\b", why, re.IGNORECASE)


@pytest.mark.parametrize(("suite", "case"), CASES, ids=[case["case"] for _, case in CASES])
def test_matchers_are_known(suite, case):
    """
    A runner that knows the matchers of the README knows them all.
    """
    readme = text_of("runner.md")

    assert set() == set(matchers_in(case["expect"])) - MATCHERS
    assert matchers_in(case["input"]) == []
    assert specials_in(case) <= SPECIALS
    assert all(f"`{name}`" in readme for name in MATCHERS)
    assert all(f'"{name}"' in readme for name in ("$repeat", "$join", "$number"))


def test_the_readme_knows_every_operation():
    """
    The table of operations in the README is complete.
    """
    listed = re.findall(r"^\| `([a-z-]+)` \|", section("runner.md", "What a runner does"), re.MULTILINE)

    assert sorted(path.stem for path in SUITES) == sorted(listed)


# ---------------------------------------------------------------- schemas of what is sent


def kinds(schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """
    Return what a schema of one member demands, however it is spelled: types, choices, bounds, items.
    """
    if "$ref" in schema:
        return kinds(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        merged: dict[str, Any] = {"type": []}
        for part in schema["anyOf"]:
            found = kinds(part, defs)
            merged["type"] += found.pop("type")
            merged |= found
        return merged
    wanted = {key: schema[key] for key in ("enum", "minimum", "maximum") if key in schema}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    items = {"items": kinds(schema["items"], defs)} if "items" in schema else {}
    return {"type": types, **wanted, **items}


def test_the_model_says_the_same():
    """
    The schema that the model gives, and the one for other languages, agree in members, types, choices and bounds.
    """
    ours, model = load(SPECS / "envelope.schema.json"), McpExecuteError.model_json_schema()
    defs = model.get("$defs", {})

    assert ours["required"] == model["required"]
    assert ours["additionalProperties"] is model["additionalProperties"] is False
    assert list(ours["properties"]) == list(model["properties"]) == list(McpExecuteError.model_fields)
    assert {name: kinds(member, {}) for name, member in ours["properties"].items()} == {
        name: kinds(member, defs) for name, member in model["properties"].items()
    }


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"code": "nonsense"}, id="a code that does not exist"),
        pytest.param({"category": "sometimes"}, id="a category that does not exist"),
        pytest.param({"retryable": "true"}, id="a flag in quotation marks"),
        pytest.param({"message": None}, id="no message"),
        pytest.param({"retry_after_seconds": -1}, id="a wait below zero"),
        pytest.param({"retry_after_seconds": 2**32}, id="a wait above 32 bits"),
        pytest.param({"retry_after_seconds": 1.5}, id="half a second"),
        pytest.param({"hint": 5}, id="a number as a hint"),
        pytest.param({"cause_chain": None}, id="null for a chain"),
        pytest.param({"cause_chain": ["a", 1]}, id="a number in the chain"),
        pytest.param({"details": {}}, id="a member that the contract does not have"),
    ],
)
def test_the_schema_of_envelopes_refuses(change):
    """
    What is no envelope does not pass.
    """
    good = McpExecuteError.new("internal", "m").to_wire()

    assert complaints("envelope.schema.json", good) == []
    assert complaints("envelope.schema.json", good | change)


FULL = (
    McpExecuteError.new("quota_exceeded", "The quota is used up.")
    .with_retry_after_seconds(30)
    .with_hint("Ask for less.")
    .with_cause("HTTP 429")
)

FAULTS = {
    **{code.value: ToolFault.of(McpExecuteError.new(code, f"It was {code.value}.")) for code in McpErrorCode},
    "everything": ToolFault.of(
        FULL, outcome="unknown", facts={"id": "a1", "origin": "upstream", "upstream_status": 429}
    ),
    "refused arguments": ToolFault.of(
        McpExecuteError.new("invalid_arguments", "`city` is required."),
        outcome="not_executed",
        facts={"id": "a2", "origin": "tool", "violations": [{"field": "city", "rule": "missing"}]},
    ),
    "facts that are not known": ToolFault.of(FULL, facts={"id": "a3", "origin": None}),
    "facts of a later version": ToolFault.of(
        FULL, facts={"id": "a4", "weather": float("nan"), "deep": [[[[[[[[[1]]]]]]]]]}
    ),
    "wait of zero": ToolFault("tool_timeout", "Late.", retry_after_seconds=0),
    "longest wait": ToolFault("tool_timeout", "Late.", retry_after_seconds=2**32 - 1),
    "empty message": ToolFault("internal", ""),
    "empty hint": ToolFault("internal", "m", hint=""),
    "lone surrogate": ToolFault("internal", "file \udcff", hint="\ud800", causes=["\udfff"]),
    "overridden": ToolFault("internal", "Down.", category="transient", retryable=True, causes=["refused"]),
    "cannot be written": ToolFault.of(McpExecuteError.model_construct(code="internal", message="m")),
}


@pytest.mark.parametrize("structured", [True, False], ids=["structured", "in meta"])
@pytest.mark.parametrize("guidance", Guidance)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_is_sent_passes_the_schema(fault, guidance, structured):
    """
    Whatever fault, guidance and place: the result is one, and its first text is the message.
    """
    result = json.loads(
        json.dumps(to_result(fault, guidance=guidance, structured=structured), allow_nan=False).encode()
    )
    envelope = result["structuredContent"] if structured else result["_meta"][META_KEY]["error"]
    first = result["content"][0]["text"]

    assert complaints("result.schema.json", result) == []
    assert first == envelope["message"] if guidance is not Guidance.INLINE else first.startswith(envelope["message"])
    assert envelope == McpExecuteError.from_wire(envelope).to_wire()


@pytest.mark.parametrize("structured", [True, False], ids=["structured", "in meta"])
def test_the_last_resort_passes_the_schema(structured):
    """
    The constant result is as good as any.
    """
    assert complaints("result.schema.json", last_resort(structured=structured)) == []


def spoil(**change: Any) -> dict[str, Any]:
    return {key: value for key, value in (to_result(FAULTS["everything"]) | change).items() if value is not ...}


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(spoil(isError=False), id="a success"),
        pytest.param(spoil(isError=...), id="no flag"),
        pytest.param(spoil(content=[]), id="nothing to read"),
        pytest.param(spoil(structuredContent=...), id="no envelope anywhere"),
        pytest.param(spoil(structuredContent={"result": "Error"}), id="something else in its place"),
        pytest.param(spoil(_meta={META_KEY: {"v": 1, "error": FULL.to_wire()}}), id="the envelope twice"),
        pytest.param(spoil(_meta={META_KEY: {"v": 2}}), id="another version of the facts"),
        pytest.param(spoil(_meta={META_KEY: {"v": 1, "outcome": "perhaps"}}), id="an outcome that does not exist"),
        pytest.param(spoil(resultType="input_required"), id="a request for input"),
        pytest.param(spoil(details={}), id="a member that results do not have"),
    ],
)
def test_the_schema_of_results_refuses(result):
    """
    What is no error result of ours does not pass.
    """
    assert complaints("result.schema.json", result)


def test_the_schema_of_results_leaves_room_for_others():
    """
    Keys of others in ``_meta``, facts of later versions and the revision's own member pass.
    """
    result = spoil(resultType="complete", _meta={"com.example/x": 1, META_KEY: {"v": 1, "weather": "fine"}})

    assert complaints("result.schema.json", result) == []


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SPECS.glob("vectors/*/*.json") if path.name != "suite.schema.json"),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_the_readme_tells_each_operation_of_the_other_vocabularies(path):
    """
    Its row has what the operation is, and every member of its inputs and expectations.
    """
    suite = json.loads(path.read_text(encoding="utf-8"))
    members = [{name for case in suite["cases"] for name in case[side] if name != "op"} for side in ("input", "expect")]

    (row,) = re.findall(
        rf"^\| `{path.parent.name}/{suite['suite']}` \| (.*) \| (.*) \| (.*) \|$", text_of("runner.md"), re.MULTILINE
    )

    assert suite["about"].lower() in row[0].lower()
    assert [set(re.findall(r"`([^`]+)`", cell)) for cell in row[1:]] == members


def test_every_suite_belongs_to_a_class():
    """
    Whoever conforms to a class knows which suites to pass; the others are named as nobody's.
    """
    page = text_of("conformance.md")
    rows = [
        line for line in page.splitlines() if re.match(r"\| (?:server|client|bridge|judging|waits|redacting) \|", line)
    ]
    listed = {name for row in rows for name in re.findall(r"`([\w/*-]+)`", row.rpartition(" | ")[2])}
    folders = {f"{path.parent.name}/*" for path in SPECS.glob("vectors/*/*.json")}
    ours = {load(path)["suite"] for path in SUITES if load(path)["ours"]}

    assert listed == ours | folders


def test_the_readme_begins_with_the_problem_and_ends_soon():
    """
    The problem, the classes, the order of building and the vectors stand within a screen and a half.
    """
    lines = text_of("README.md").splitlines()

    assert "When a call of an MCP tool fails" in lines[2]
    assert lines.index("## Files") <= 45
