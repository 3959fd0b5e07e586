"""
langchain-mcp-adapters inside LangGraph and outside, with a scripted model.
"""

import importlib
import itertools
import sys

import anyio
import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException
from langchain_mcp_adapters import tools as adapters
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.errors import GraphInterrupt
from langgraph.types import Command
from mcp import McpError
from mcp.types import CallToolResult, ErrorData, ImageContent, TextContent

from agents_shop import TOGETHER, Watcher, seen_together, watched
from toolfault import Budget, McpErrorCode, ToolFault, parse
from toolfault.hosting import to_result
from toolfault.integrations.langchain import ToolFaultInterceptor


DEPOTS = ("".join(letters) for letters in itertools.product("LMN", repeat=3))


class Scripted(BaseChatModel):
    """
    A model that calls the given tools, one after another and those of a list in one turn, and keeps what it was shown
    of each.
    """

    script: list
    shown: list = []

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        self.shown = [message for message in messages if isinstance(message, ToolMessage)]
        turn = self.script.pop(0) if self.script else []
        asked = enumerate(turn if isinstance(turn, list) else [turn], len(self.shown))
        calls = [{"name": name, "args": args, "id": f"call-{number}"} for number, (name, args) in asked]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if calls else "done", tool_calls=calls))])


def text_of(message):
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block["text"] for block in message.content if block["type"] == "text")


async def run_agent(tools, script, **options):
    model = Scripted(script=list(script))
    await create_agent(model, tools, **options).ainvoke({"messages": [("user", "go on")]})
    return model.shown


@pytest.fixture(scope="module")
def session(portal, server):
    connection = {"transport": "stdio", "command": server.command, "args": server.args}
    client = MultiServerMCPClient({"tea": connection})
    with portal.wrap_async_context_manager(client.session("tea")) as session:
        yield session


@pytest.fixture
def ask(portal, session):
    """
    Let a model call tools, and return the messages that it was shown.
    """

    async def asked(script, interceptors, load, options):
        tools = await load_mcp_tools(session, tool_interceptors=interceptors, server_name="tea", **load)
        return await run_agent(tools, script, **options)

    def ask(script, *interceptors, load=None, **options):
        try:
            return portal.call(asked, script, list(interceptors), load or {}, options)
        finally:
            portal.call(session.call_tool, "close_stocktaking", {})

    return ask


def test_before_and_after(compare, sent):
    before, after, failed = compare(ToolFaultInterceptor, DEPOTS, text_of)

    assert ("error", None) == (before.status, before.artifact)
    assert ("error" if failed else "success") == after.status
    if failed:
        envelope = parse({"isError": True, "structuredContent": after.artifact["structured_content"]}).envelope
        assert f"[{envelope.code.value}]" in after.content
        assert after.content.startswith(envelope.message)
        assert after.name == sent[-1]


def test_by_the_operators_word_a_write_is_repeated(ask, sent, patience):
    script = [
        ("open_stocktaking", {}),
        ("place_order", {"reference": "WORD-0001", "customer": 7, "sku": "SEN-100", "quantity": 1}),
    ]

    *_, after = ask(script, ToolFaultInterceptor(patience.rules(), idempotent=["place_order"]))

    assert 3 == sent.count("place_order")
    assert "tried 3 times" in text_of(after)


@pytest.mark.parametrize("prefixed", [False, True])
def test_hints_and_the_operators_word_find_a_tool_by_either_name(ask, sent, patience, prefixed):
    name = "tea_track_parcel" if prefixed else "track_parcel"
    distrusting = patience.rules(trust_hints=False)

    for interceptor in (ToolFaultInterceptor(patience.rules()), ToolFaultInterceptor(distrusting, idempotent=[name])):
        depot = next(DEPOTS)
        (after,) = ask([(name, {"number": f"{depot}-1042"})], interceptor, load={"tool_name_prefix": prefixed})
        assert f"{depot}-1042 is on the water" == text_of(after)

    assert ["track_parcel"] * 6 == sent


def test_without_trust_in_hints_nothing_is_repeated(ask, sent, patience):
    ask([("track_parcel", {"number": f"{next(DEPOTS)}-1042"})], ToolFaultInterceptor(patience.rules(trust_hints=False)))

    assert ["track_parcel"] == sent


def test_the_frameworks_own_retries_are_not_spent(ask, sent, patience):
    """
    LangChain's middleware repeats whatever raises, a refusal too; what we hand over raises nothing.
    """
    from langchain.agents.middleware import ToolRetryMiddleware

    script = [("shipping_quote", {"country": "AQ", "kilos": 2})]
    again = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)

    ask(script, load={"handle_tool_errors": False}, middleware=[again])
    assert 3 == len(sent)
    sent.clear()

    (after,) = ask(
        script, ToolFaultInterceptor(patience.rules()), load={"handle_tool_errors": False}, middleware=[again]
    )
    assert 1 == len(sent)
    assert "[permission_denied]" in after.content


def test_a_session_for_each_call(portal, server, patience):
    """
    As `MultiServerMCPClient` does it by default: each attempt starts the server anew.
    """
    connection = {"transport": "stdio", "command": server.command, "args": server.args}
    client = MultiServerMCPClient(
        {"tea": connection}, tool_interceptors=[ToolFaultInterceptor(patience.rules(attempts=2))]
    )

    async def main():
        return await run_agent(await client.get_tools(), [("track_parcel", {"number": "HAM-1042"})])

    (after,) = portal.call(main)

    assert [1.0] == patience.waits
    assert "[internal] The call was tried 2 times." in after.content


def peer_tools(peer, *interceptors):
    connection = {"transport": "stdio", "command": peer.command, "args": peer.args}
    return MultiServerMCPClient({"peer": connection}, tool_interceptors=list(interceptors)).get_tools()


def test_calls_of_one_turn_to_a_server_that_is_not_ours(portal, new_peer, patience):
    without, with_us = new_peer(), new_peer()
    turn = [(tool, {}) for tool in TOGETHER]

    async def asked(peer, *interceptors):
        return await run_agent(await peer_tools(peer, *interceptors), [turn])

    portal.call(asked, without)
    told = portal.call(asked, with_us, ToolFaultInterceptor(patience.rules()))

    assert seen_together(without, with_us, {message.name: text_of(message) for message in told}) == TOGETHER


def test_observers_stand_around_attempts(portal, new_peer, patience):
    watcher = Watcher()

    async def main():
        tools = await peer_tools(new_peer(), ToolFaultInterceptor(patience.rules(observers=[watcher])))
        await run_agent(tools, [("outage", {})])

    portal.call(main)

    assert watched("outage") == watcher.seen


@pytest.mark.parametrize(("tool", "asked"), [("dies", 2), ("dies_writing", 1)])
def test_a_server_that_dies_is_asked_again_where_that_is_safe(portal, new_peer, patience, tool, asked):
    peer, told = new_peer(), []

    async def main():
        tools = await peer_tools(peer, ToolFaultInterceptor(patience.rules()))
        told.extend(await run_agent(tools, [(tool, {})]))

    if tool == "dies":
        portal.call(main)
        assert ["alive"] == [text_of(message) for message in told]
    else:
        with pytest.raises(McpError, match="Connection closed"):
            portal.call(main)
    assert asked == peer.calls(tool)


def test_outside_of_langgraph_the_text_alone_is_changed(portal, session, sent, patience):
    async def main(**load):
        tools = await load_mcp_tools(session, tool_interceptors=[ToolFaultInterceptor(patience.rules())], **load)
        (tool,) = [tool for tool in tools if tool.name == "shipping_quote"]
        arguments = {"country": "AQ", "kilos": 2}
        with_id = await tool.ainvoke({"type": "tool_call", "id": "7", "name": tool.name, "args": arguments})
        return with_id, await tool.ainvoke(arguments)

    message, content = portal.call(main)

    assert ("error", "7") == (message.status, message.tool_call_id)
    assert "[permission_denied]" in text_of(message)
    assert "[permission_denied]" in content[0]["text"]
    with pytest.raises(ToolException, match=r"\[permission_denied\]"):
        portal.call(lambda: main(handle_tool_errors=False))


# ---- one call, with what a server or another interceptor may make of it


class Runtime:
    tool_call_id = "7"

    def __init__(self, *tools):
        self.tools = tools


class Tool:
    def __init__(self, name, **metadata):
        self.name = name
        self.metadata = metadata or None


READS = Tool("look", readOnlyHint=True)
RUNTIME = Runtime(READS)


class Handler:
    """
    Answers with one thing after another, and raises exceptions.
    """

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = 0

    async def __call__(self, request):
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def intercept(interceptor, handler, *, runtime=RUNTIME, name="look", server_name="shop"):
    request = MCPToolCallRequest(name=name, args={}, server_name=server_name, runtime=runtime)

    async def main():
        return await interceptor(request, handler)

    return anyio.run(main)


def failed(code, message="No", **details):
    return CallToolResult.model_validate(to_result(ToolFault(code, message, **details)))


def said(*content):
    return CallToolResult(isError=True, content=list(content))


def text(words):
    return TextContent(type="text", text=words)


BUSY = failed("quota_exceeded", "The limit is reached", retry_after_seconds=7)
PICTURE = ImageContent(type="image", data="aGk=", mimeType="image/png")

UNTOUCHED = [
    CallToolResult(content=[text("fine")]),
    CallToolResult(content=[text("Error: not found")]),
    ToolMessage("rate limit reached", tool_call_id="7", status="error"),
    Command(update={"error": {"code": -32603, "message": "rate limit reached"}}),
]


@pytest.mark.parametrize("answer", UNTOUCHED, ids=["success", "success-shaped", "message", "command"])
def test_what_is_no_failed_result_is_handed_on(patience, answer):
    handler = Handler(answer)

    assert intercept(ToolFaultInterceptor(patience.rules()), handler) is answer
    assert 1 == handler.calls


RAISED = [
    (McpError(ErrorData(code=-32602, message="Unknown tool: look")), 1),
    (ToolException("no"), 1),
    (KeyError("city"), 1),
    (GraphInterrupt(()), 1),
    (McpError(ErrorData(code=-32000, message="Connection closed")), 3),
]


@pytest.mark.parametrize(("exc", "calls"), RAISED, ids=[type(exc).__name__ + str(calls) for exc, calls in RAISED])
def test_what_is_raised_leaves_as_it_came(patience, exc, calls):
    handler = Handler(exc)

    with pytest.raises(type(exc)) as raised:
        intercept(ToolFaultInterceptor(patience.rules()), handler)

    assert raised.value is exc
    assert calls == handler.calls


@pytest.mark.parametrize(
    ("runtime", "calls"),
    [
        (Runtime(READS), 3),
        (Runtime(READS, Tool("other")), 3),
        (Runtime(Tool("shop_look", idempotentHint=True)), 3),
        (Runtime(Tool("look", readOnlyHint=False)), 1),
        (Runtime(Tool("look")), 1),
        (Runtime(READS, Tool("shop_look", readOnlyHint=True)), 1),  # which of them it is can't be told
        (Runtime(), 1),
        (None, 1),
        (object(), 1),
    ],
)
def test_hints_count_where_they_are_known(patience, runtime, calls):
    handler = Handler(BUSY)

    intercept(ToolFaultInterceptor(patience.rules()), handler, runtime=runtime)

    assert calls == handler.calls


def test_each_server_has_a_budget_of_its_own(patience):
    interceptor = ToolFaultInterceptor(patience.rules(attempts=30, timeout=None))
    outage = failed("internal", "down", category="transient", retryable=True)
    spent, other = Handler(outage), Handler(outage)

    intercept(interceptor, spent)
    intercept(interceptor, spent)
    intercept(interceptor, other, server_name="another")

    retries = Budget().left
    assert (retries + 2, retries + 1) == (spent.calls, other.calls)


TOLD = [
    (
        said(text("Error: rate limit reached"), text("see the log")),
        "Error: rate limit reached\nsee the log\n[quota_exceeded] ",
        [],
    ),
    (
        said(text('{"code": "RATE_LIMITED", "message": "slow down"}')),
        "slow down\n[quota_exceeded] ",
        ['{"code": "RATE_LIMITED", "message": "slow down"}'],
    ),
    (said(text("lost: " + 9999 * "x ")), "lost: x x x", []),
    (said(), "The tool failed without saying why.\n[unknown]", []),
    (said(text("bad"), PICTURE), "bad\n[internal]", [PICTURE]),
    (said(text("bad"), {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}), "bad\n[internal]", []),
    (failed("invalid_arguments", "No such city", hint="Try Oslo"), "No such city\n[invalid_arguments] ", []),
]


@pytest.mark.parametrize(("result", "begins", "more"), TOLD)
def test_what_a_model_reads(patience, result, begins, more):
    message = intercept(ToolFaultInterceptor(patience.rules()), Handler(result))

    assert ("error", "7", "look") == (message.status, message.tool_call_id, message.name)
    assert text_of(message).startswith(begins)
    if not more:
        assert isinstance(message.content, str)
    else:
        shown = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
        assert [shown if block is PICTURE else {"type": "text", "text": block} for block in more] == message.content[1:]
    assert McpErrorCode(message.artifact["structured_content"]["code"]).value in text_of(message)


@pytest.mark.parametrize(("listed", "name"), [("look", "look"), ("shop_look", "shop_look"), ("another", "look")])
def test_the_message_has_the_name_that_the_model_knows(patience, listed, name):
    refused = Handler(failed("permission_denied"))

    message = intercept(ToolFaultInterceptor(patience.rules()), refused, runtime=Runtime(Tool(listed)))

    assert name == message.name


REFUSED = failed("permission_denied", "No")
TEXT = {"type": "resource", "resource": {"uri": "file:///log.txt", "text": "see E42", "mimeType": "text/plain"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///log.gz", "blob": "aGk=", "mimeType": "application/gzip"}}
SEEN = {"type": "resource", "resource": {"uri": "file:///a.png", "blob": "aGk=", "mimeType": "image/png"}}
HELP = {"type": "resource_link", "uri": "https://example.com/help", "name": "help", "mimeType": "text/html"}
PLAN = {"type": "resource_link", "uri": "https://example.com/plan", "name": "plan", "mimeType": "image/png"}


def test_what_stands_beside_the_text_is_shown_as_the_adapters_show_it(patience):
    blocks = CallToolResult.model_validate({"content": [TEXT, BLOB, SEEN, HELP, PLAN]})
    result = REFUSED.model_copy(update={"content": [*REFUSED.content, *blocks.content]})

    message = intercept(ToolFaultInterceptor(patience.rules()), Handler(result))

    theirs, _ = adapters._convert_call_tool_result(blocks)
    assert [{key: block[key] for key in block if key != "id"} for block in theirs] == message.content[1:]


def test_data_of_no_known_kind_is_shown_as_such(patience):
    odd = {"type": "resource", "resource": {"uri": "file:///x", "blob": "aGk="}}
    result = REFUSED.model_copy(update={"content": CallToolResult.model_validate({"content": [odd]}).content})

    message = intercept(ToolFaultInterceptor(patience.rules()), Handler(result))

    assert [{"type": "file", "base64": "aGk=", "mime_type": "application/octet-stream"}] == message.content[1:]


def test_a_text_that_was_told_is_not_told_again(patience):
    blocks = CallToolResult.model_validate({"isError": True, "content": [{"type": "text", "text": "bad"}, TEXT]})

    message = intercept(ToolFaultInterceptor(patience.rules()), Handler(blocks))

    assert "bad\nsee E42\n[internal]" == message.content


def test_outside_of_langgraph_other_blocks_stay(patience):
    result = intercept(ToolFaultInterceptor(patience.rules()), Handler(said(text("bad"), PICTURE)), runtime=None)

    assert result.isError
    assert result.content[0].text.startswith("bad\n[internal]")
    assert [PICTURE] == result.content[1:]


def test_one_name_is_not_several():
    with pytest.raises(ValueError, match=r"write idempotent=\['look'\]"):
        ToolFaultInterceptor(idempotent="look")


def test_without_the_framework_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_mcp_adapters.interceptors", None)
    monkeypatch.delitem(sys.modules, "toolfault.integrations.langchain")

    with pytest.raises(ImportError, match=r"pip install 'toolfault\[langchain\]'"):
        importlib.import_module("toolfault.integrations.langchain")
