"""
The examples on the pages of ``docs/checks``, as exchanges.

An example is one exchange, or a list of them, as JSON::

    kind        which failure was asked for, as --dry-run prints it
    id          the provocation's name
    sent        the request, or a text that is not one
    answers     the answers; a text is what came instead of JSON
    expected    what is known of the failure before it is provoked
    tool        the entry of tools/list
    other members   those of `Exchange`
"""

import json
import re

from toolfault.check._model import Answer, Exchange, Expected, Kind, Provocation, ToolSeen
from toolfault.check._verdicts import judge_all


def examples(page):
    """
    The JSON blocks of a page by the heading that they stand under.
    """
    found = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0].strip()
        blocks = re.findall(r"^```json\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        found[heading] = [json.loads(block) for block in blocks]
    return found


def outcome(check, example):
    """
    The result of one check for an example.
    """
    listed = example if isinstance(example, list) else [example]
    tools = {}
    for one in listed:
        if "tool" in one:
            tools[one["tool"]["name"]] = ToolSeen(one["tool"]["name"], one["tool"], may_run=True)
    exchanges = [make_exchange(one, tools) for one in listed if "kind" in one]
    is_http = any("status" in one for one in listed)
    found = [result for result in judge_all(exchanges, list(tools.values()), is_http=is_http) if result.check == check]
    assert len(found) == 1, f"{len(found)} results of {check}"
    return found[0]


def make_exchange(example, tools):
    """
    An example as an exchange.
    """
    sent = example["sent"]
    is_raw = isinstance(sent, str)
    kind = Kind(example["kind"])
    params = None if is_raw else sent.get("params")
    expected = dict(example.get("expected", {}))
    expected["codes"] = frozenset(expected.get("codes", ()))
    calls_tool = kind not in (Kind.UNKNOWN_TOOL, Kind.PROTOCOL)
    name = (params or {}).get("name")
    if calls_tool and name not in tools:
        tools[name] = ToolSeen(name, {"name": name}, may_run=True)
    provocation = Provocation(
        example.get("id", kind.value),
        "example",
        kind,
        "" if is_raw else sent["method"],
        params=params,
        tool=name if calls_tool else None,
        raw=sent.encode() if is_raw else None,
        upstream=example.get("upstream", ""),
        expected=Expected(**expected),
    )
    return Exchange(
        provocation,
        None if is_raw else sent["id"],
        tuple(make_answer(answer, example.get("status")) for answer in example.get("answers", [])),
        tuple(line.encode() for line in example.get("noise", [])),
        elapsed=example.get("elapsed", 0.1),
        is_alive=example.get("is_alive", True),
        end=example.get("end"),
        upstream_requests=example.get("upstream_requests", 1 if "upstream" in example else None),
        protocol=example.get("protocol", "2025-11-25"),
        is_cancelled=example.get("is_cancelled", kind is Kind.CANCELLED),
    )


def make_answer(answer, status):
    """
    A message that came, from its JSON value or its text.
    """
    if isinstance(answer, str):
        try:
            return Answer(answer.encode(), json.loads(answer), status)
        except ValueError:
            return Answer(answer.encode(), None, status)
    return Answer(json.dumps(answer).encode(), answer, status)
