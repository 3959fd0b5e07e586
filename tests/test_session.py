"""
Client sessions that try again, against a real server in memory. No test sleeps.
"""

import anyio
import pytest
import trio.testing
from mcp import Client, ClientSession, MCPError
from mcp.client.session_group import ClientSessionGroup
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context
from mcp.types import (
    CallToolResult,
    ImageContent,
    Implementation,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from toolfault import Retry, ToolFault, parse
from toolfault.hosting import to_result
from toolfault.integrations.mcp._session import retrying


READS = ToolAnnotations(read_only_hint=True)
BUSY = to_result(ToolFault("quota_exceeded", "The limit is reached", retry_after_seconds=7))


def busy(envelope=BUSY):
    return CallToolResult.model_validate(envelope)


DONE = CallToolResult(content=[TextContent(type="text", text="done")])


class World:
    """
    A server whose tools fail twice before they work, and a retry that writes down its waits.
    """

    def __init__(self, failures=2, **rules):
        self.calls = []
        self.waits = []
        self.made = []
        self.listings = 0
        self.failures = failures
        self.now = 0.0
        self.retry = Retry(
            sleep=self.sleep, clock=lambda: self.now, random=lambda: 0.0, on_attempt=(self.made.append,), **rules
        )

    async def sleep(self, seconds):
        self.waits.append(seconds)

    def turn(self, name):
        self.calls.append(name)
        return busy() if len(self.calls) <= self.failures else DONE

    def server(self):
        server = MCPServer("weather")

        @server.tool(annotations=READS, structured_output=False)
        async def forecast(city: str) -> CallToolResult:
            return self.turn("forecast")

        @server.tool(structured_output=False)
        async def order(article: str = "map") -> CallToolResult:
            return self.turn("order")

        @server.tool(annotations=ToolAnnotations(idempotent_hint=True), structured_output=False)
        async def hang(context: Context) -> CallToolResult:
            self.calls.append("hang")
            await context.report_progress(1, 2, "begun")
            if len(self.calls) <= self.failures:
                await anyio.sleep_forever()
            return DONE

        return server


@pytest.fixture(params=["legacy", "auto"])
def mode(request):
    return request.param


def run(main, *, backend="asyncio"):
    return anyio.run(main, backend=backend)


def run_fast(main):
    """
    Run with a clock that jumps to the next deadline as soon as nothing else can happen.
    """
    clock = trio.testing.MockClock(autojump_threshold=0)
    return anyio.run(main, backend="trio", backend_options={"clock": clock})


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_read_is_tried_again(mode, backend):
    world = World()

    async def main():
        async with Client(world.server(), mode=mode) as client:
            return await retrying(client, world.retry).call_tool("forecast", {"city": "Bergen"})

    result = run(main, backend=backend)

    assert parse(result) is None
    assert result.content[0].text == "done"
    assert world.calls == ["forecast"] * 3
    assert world.waits == [7.0, 7.0]
    assert [made.stopped for made in world.made] == [None, None, "success"]


def test_so_it_is_over_the_session_below(mode):
    world = World()

    async def main():
        async with Client(world.server(), mode=mode) as client:
            assert isinstance(client.session, ClientSession)
            return await retrying(client.session, world.retry).call_tool("forecast", {"city": "Bergen"})

    assert parse(run(main)) is None
    assert world.calls == ["forecast"] * 3


@pytest.mark.parametrize(
    ("tool", "options", "rules", "calls"),
    [
        pytest.param("order", {}, {}, 1, id="nothing is known of it"),
        pytest.param("order", {"idempotent": True}, {}, 3, id="the caller's word"),
        pytest.param("forecast", {"idempotent": False}, {}, 1, id="the caller forbids it"),
        pytest.param("forecast", {}, {"trust_hints": False}, 1, id="hints are not trusted"),
        pytest.param("forecast", {}, {"attempts": 2}, 2, id="attempts are counted"),
        pytest.param("forecast", {}, {"hint_max": 5}, 1, id="the delay is too long"),
    ],
)
def test_what_is_repeated(tool, options, rules, calls):
    world = World(**rules)

    async def main():
        async with Client(world.server()) as client:
            return await retrying(client, world.retry).call_tool(tool, {"city": "Bergen"}, **options)

    fault = parse(run(main))

    assert (fault is None) is (calls == 3)
    assert len(world.calls) == calls


def test_progress_and_timeout_go_with_each_attempt(mode):
    world = World()
    progress = []

    async def told(done, total, message):
        progress.append((done, total, message))

    async def main():
        async with Client(world.server(), mode=mode) as client:
            return await retrying(client, world.retry).call_tool(
                "hang", {}, read_timeout_seconds=30.0, progress_callback=told
            )

    assert parse(run_fast(main)) is None
    assert world.calls == ["hang"] * 3
    assert progress == [(1, 2, "begun")] * 3
    assert [made.fault.code for made in world.made[:2]] == ["tool_timeout"] * 2


def test_the_last_exception_is_raised_unchanged():
    world = World(failures=9, attempts=2)

    async def main():
        async with Client(world.server()) as client:
            with pytest.raises(MCPError) as caught:
                await retrying(client, world.retry).call_tool("hang", {}, read_timeout_seconds=30.0)
            return caught.value

    exc = run_fast(main)

    assert exc.error.code == -32001
    assert exc.__cause__ is None
    assert world.calls == ["hang"] * 2


def test_cancellation_passes():
    world = World(failures=9)

    async def main():
        async with Client(world.server()) as client:
            with anyio.move_on_after(30.0) as scope:
                await retrying(client, world.retry).call_tool("hang", {})
            return scope.cancelled_caught

    assert run_fast(main)
    assert (world.calls, world.made) == (["hang"], [])


def test_everything_else_passes_through(mode):
    world = World(failures=0)

    async def main():
        client = Client(world.server(), mode=mode)
        wrapped = retrying(client)
        async with wrapped as entered:
            assert entered is wrapped
            assert entered.session is client.session
            assert [tool.name for tool in (await entered.list_tools()).tools] == ["forecast", "order", "hang"]
            assert parse(await entered.call_tool("order")) is None
            with pytest.raises(AttributeError):
                _ = entered.no_such_thing
        assert repr(wrapped).startswith("<retrying Client(")

    run(main)


# Listing.


class Session:
    """
    What is needed of a session, scripted.
    """

    def __init__(self, outcomes, pages=()):
        self.outcomes = list(outcomes)
        self.pages = list(pages)
        self.calls = []
        self.listed = []

    async def call_tool(self, name, arguments=None, *args, **options):
        self.calls.append((name, arguments, args, options))
        outcome = self.outcomes[min(len(self.calls), len(self.outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def list_tools(self, cursor=None):
        self.listed.append(cursor)
        page = self.pages[min(len(self.listed), len(self.pages)) - 1]
        if isinstance(page, Exception):
            raise page
        return page


def page(*names, following=None):
    tools = [Tool(name=name, input_schema={"type": "object"}, annotations=READS) for name in names]
    return ListToolsResult(tools=tools, next_cursor=following)


def test_all_pages_are_read_and_only_once():
    world = World()
    session = Session([busy()], [page("a", following="2"), page("b", following="3"), page("c")])

    async def main():
        wrapped = retrying(session, world.retry)
        for name in ("c", "a", "no_such_tool"):
            await wrapped.call_tool(name)

    run(main)

    assert session.listed == [None, "2", "3"]
    assert [call[0] for call in session.calls] == ["c"] * 3 + ["a"] * 3 + ["no_such_tool"]


def test_pages_without_end_are_not_read_for_ever():
    world = World()
    session = Session([busy()], [page("a", following="again")])

    run(lambda: retrying(session, world.retry).call_tool("a"))

    assert len(session.listed) == 100
    assert len(session.calls) == 3


def test_concurrent_failures_list_once():
    world = World()
    session = Session([busy()], [page("a")])

    async def main():
        wrapped = retrying(session, world.retry)
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(wrapped.call_tool, "a")

    run(main)

    assert session.listed == [None]
    assert len(session.calls) == 15


def test_a_success_lists_nothing():
    session = Session([DONE])

    run(lambda: retrying(session).call_tool("a"))

    assert session.listed == []


def test_without_a_listing_nothing_is_repeated_for_hints(caplog):
    world = World()
    session = Session([busy()], [MCPError(-32601, "Method not found"), page("a")])

    async def main():
        wrapped = retrying(session, world.retry)
        await wrapped.call_tool("a")
        # A server in trouble is not asked behind each failure.
        world.now += 29
        await wrapped.call_tool("a")
        assert (len(session.calls), session.listed) == (2, [None])
        world.now += 1
        await wrapped.call_tool("a")
        assert (len(session.calls), session.listed) == (5, [None, None])

    run(main)

    assert caplog.text.count("could not be listed") == 1


def test_hints_may_change():
    world = World()
    session = Session([busy()], [page("a"), ListToolsResult(tools=[Tool(name="a", input_schema={"type": "object"})])])

    async def main():
        wrapped = retrying(session, world.retry)
        for later in (0, 299, 1):
            world.now += later
            await wrapped.call_tool("a")

    run(main)

    assert session.listed == [None, None]
    assert len(session.calls) == 3 + 3 + 1


def test_a_listing_that_hangs_is_waited_for_once():
    session = Session([busy()])

    async def main():
        async def hangs():
            session.listed.append(None)
            await anyio.sleep_forever()

        session.list_tools = hangs
        wrapped = retrying(session)
        begun = anyio.current_time()
        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(wrapped.call_tool, "a")
        return anyio.current_time() - begun

    assert run_fast(main) == pytest.approx(10.0)
    assert (len(session.calls), session.listed) == (1000, [None])


def test_a_listing_takes_no_longer_than_all_attempts_may():
    session = Session([busy()])
    session.list_tools = anyio.sleep_forever

    async def main():
        begun = anyio.current_time()
        await retrying(session, Retry(timeout=2.0)).call_tool("a")
        return anyio.current_time() - begun

    assert run_fast(main) == pytest.approx(2.0)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_who_leaves_while_the_tools_are_listed_leaves_the_others_alone(backend):
    world = World()
    session = Session([busy()], [page("a")])
    listed = session.list_tools

    async def main():
        async def first_hangs():
            if session.listed:
                return await listed()
            session.listed.append(None)
            return await anyio.sleep_forever()

        session.list_tools = first_hangs
        wrapped = retrying(session, world.retry)

        async def leaves(scope):
            with scope:
                await wrapped.call_tool("a")

        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()
            group.start_soon(leaves, scope)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(wrapped.call_tool, "a")
            await anyio.wait_all_tasks_blocked()
            scope.cancel()

    run(main, backend=backend)

    assert session.listed == [None, None]
    assert len(session.calls) == 1 + 3


def test_a_session_that_is_wrapped_already_gets_the_new_rules():
    world, other = World(), World()
    session = Session([busy()], [page("a")])

    run(lambda: retrying(retrying(session, other.retry), world.retry).call_tool("a"))

    assert len(session.calls) == 3
    assert (len(world.made), other.made) == (3, [])


@pytest.mark.parametrize(
    ("session", "retry", "words"),
    [(None, None, "client session"), (object(), None, "client session"), (Session([]), 5, r"Retry\(attempts=5\)")],
)
def test_what_can_not_be_wrapped_is_refused(session, retry, words):
    with pytest.raises(TypeError, match=words):
        retrying(session, retry)


def test_a_low_level_server_with_pages(mode):
    world = World()
    cursors = []

    async def list_tools(_context, params):
        cursor = params.cursor if params else None
        cursors.append(cursor)
        return page("b") if cursor else page("a", following="more")

    async def call_tool(_context, params):
        return world.turn(params.name)

    async def main():
        server = Server("pages", on_list_tools=list_tools, on_call_tool=call_tool)
        async with Client(server, mode=mode) as client:
            return await retrying(client.session, world.retry).call_tool("b", {})

    assert parse(run(main)) is None
    assert world.calls == ["b"] * 3
    assert cursors[:2] == [None, "more"]


# What waits for a person.


def test_a_question_is_returned_and_not_repeated():
    question = InputRequiredResult(input_requests={}, request_state="s")
    session = Session([question])

    assert run(lambda: retrying(session).call_tool("a", {}, allow_input_required=True)) is question
    assert session.calls == [("a", {}, (), {"allow_input_required": True})]


@pytest.mark.parametrize("continuation", [{"request_state": "s"}, {"input_responses": {}}])
def test_a_continuation_is_never_sent_twice(continuation):
    session = Session([busy(), DONE], [page("a")])

    result = run(lambda: retrying(session, World().retry).call_tool("a", {}, idempotent=True, **continuation))

    assert parse(result).code == "quota_exceeded"
    assert session.calls == [("a", {}, (), continuation)]


def test_keywords_pass_through_unchanged():
    world = World()
    session = Session([busy(), DONE], [page("a")])

    run(lambda: retrying(session, world.retry).call_tool("a", {"x": 1}, 3.0, meta={"k": 1}))

    assert session.calls == [("a", {"x": 1}, (3.0,), {"meta": {"k": 1}})] * 2


# Budgets.


def test_each_session_has_a_budget_of_its_own():
    world = World(wait_jitter=0.0)
    session = Session([busy()], [page("a")])

    async def main():
        wrapped = retrying(session, world.retry)
        for _ in range(60):
            await wrapped.call_tool("a")
        spent = len(session.calls)
        await retrying(session, world.retry).call_tool("a")
        return spent

    spent = run(main)

    # 10 tokens at 5/14 each.
    assert spent == 60 + 28
    assert len(session.calls) == spent + 3
    assert world.made[-4].stopped == "budget"


def test_each_server_of_a_group_has_a_budget_of_its_own():
    """
    One of two servers is down for good: the other's calls are repeated all the same.
    """
    world = World(wait_jitter=0.0)
    first, second = World(failures=10**6), World(failures=10**6)

    async def main():
        async with ClientSessionGroup(component_name_hook=lambda name, info: f"{info.name}.{name}") as group:
            for name, at in (("first", first), ("second", second)):
                client = await group._exit_stack.enter_async_context(Client(at.server()))
                await group.connect_with_session(Implementation(name=name, version="1"), client.session)
            wrapped = retrying(group, world.retry)
            for _ in range(60):
                await wrapped.call_tool("first.forecast", {"city": "Bergen"})
            await wrapped.call_tool("second.forecast", {"city": "Bergen"})
            await wrapped.call_tool("second.order", {})

    run(main)

    assert len(first.calls) == 60 + 28
    assert second.calls == ["forecast"] * 3 + ["order"]


# What the model reads.


def test_what_happened_comes_back_as_data():
    world = World()
    attempts = []

    async def main():
        async with Client(world.server()) as client:
            return await retrying(client, world.retry).call_tool(
                "forecast", {"city": "Bergen"}, on_attempt=attempts.append
            )

    assert parse(run(main)) is None
    assert [(made.number, made.wait, made.stopped) for made in attempts] == [
        (1, 7.0, None),
        (2, 7.0, None),
        (3, None, "success"),
    ]
    assert attempts == world.made


def test_each_attempt_is_a_request_of_its_own_and_says_which(mode):
    """
    The request's id, its progress token and the attempt's number differ; what the caller's ``_meta`` says stays.
    """
    world = World()
    seen = []

    async def list_tools(_context, _params):
        return page("a")

    async def call_tool(context, params):
        meta = dict(params.meta or {})
        seen.append(
            (context.request_id, meta.get("progress_token"), meta.get("io.github.toolfault/attempt"), meta.get("mine"))
        )
        return world.turn(params.name)

    async def progress(_done, _total, _message):
        pass

    async def main():
        server = Server("numbers", on_list_tools=list_tools, on_call_tool=call_tool)
        async with Client(server, mode=mode) as client:
            await retrying(client, world.retry).call_tool("a", {}, progress_callback=progress, meta={"mine": "yes"})

    run(main)

    ids, tokens, numbers, mine = zip(*seen)
    assert len(set(ids)) == 3
    # In memory, the modern era hands the callback itself over, without a token.
    assert set(tokens) == {None} if mode == "auto" else len(set(tokens) - {None}) == 3
    assert numbers == (None, 2, 3)
    assert mine == ("yes",) * 3


def test_the_last_text_can_be_rewritten_for_a_model():
    world = World(failures=9)

    async def main():
        async with Client(world.server()) as client:
            wrapped = retrying(client, world.retry, rewrite=True)
            return await wrapped.call_tool("forecast", {"city": "Bergen"}), await client.call_tool("order", {})

    rewritten, plain = run(main)

    assert [block.text for block in rewritten.content] == [
        "The limit is reached\n[quota_exceeded] The call was tried 3 times. The same call may succeed if it is retried after 7 seconds."
    ]
    assert rewritten.structured_content == plain.structured_content
    assert parse(rewritten).envelope == parse(plain).envelope


def test_a_rewritten_result_keeps_what_is_no_text():
    picture = ImageContent(type="image", data="", mime_type="image/png")
    failed = busy().model_copy(update={"content": [TextContent(type="text", text="a"), picture]})
    session = Session([failed, failed, DONE], [page("a")])

    async def main():
        wrapped = retrying(session, World().retry, rewrite=True)
        return await wrapped.call_tool("a", idempotent=False), await wrapped.call_tool("a", idempotent=True)

    first, second = run(main)

    assert [type(block) for block in first.content] == [TextContent, ImageContent]
    assert second is DONE
