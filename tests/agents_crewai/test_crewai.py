"""
CrewAI with a scripted model, as it is and with `retrying_tools`.
"""

import itertools
import json
import os
import warnings

import pytest

from agents_shop import TOGETHER, seen_together


os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

with warnings.catch_warnings():
    # The framework and what it loads warn of themselves.
    warnings.simplefilter("ignore")
    from crewai import Agent, Crew, Task
    from crewai.llms.base_llm import BaseLLM
    from crewai.mcp import MCPServerStdio

    from toolfault.integrations.crewai import McpToolFailure, retrying_tools


pytestmark = pytest.mark.filterwarnings("ignore")

DEPOTS = ("".join(letters) for letters in itertools.product("CRW", repeat=3))
ANSWER = "Thought: done\nFinal Answer: done"


#: The messages that the models of a test are shown; the framework copies the models themselves.
SHOWN = []


class Scripted(BaseLLM):
    """
    A model that asks for the given calls in the framework's words.
    """

    script: list = []

    def supports_function_calling(self):
        return False

    def call(self, messages, *_args, **_options):
        SHOWN.append(json.dumps(messages))
        if not self.script:
            return ANSWER
        name, arguments = self.script.pop(0)
        return f"Thought: go\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def agent_for(parameters, wrap):
    """
    Return an agent with the tools of a server, and the part of their names that the framework adds.
    """
    model = Scripted(model="scripted", script=[])
    agent = Agent(role="clerk", goal="answer", backstory="none", llm=model, max_retry_limit=0, verbose=False)
    tools = agent.get_mcp_tools([MCPServerStdio(command=parameters.command, args=list(parameters.args))])
    agent.tools = wrap(tools)
    return agent, model, tools[0].name.removesuffix(tools[0].original_tool_name)


@pytest.fixture
def ask(server):
    def ask(script, *wraps):
        SHOWN.clear()
        agent, model, prefix = agent_for(server, wraps[0] if wraps else list)
        model.script.extend((prefix + name, arguments) for name, arguments in script)
        Crew(agents=[agent], tasks=[Task(description="go", expected_output="done", agent=agent)]).kickoff()
        return SHOWN[-1]

    return ask


def adapter(retry):
    return lambda tools: retrying_tools(tools, retry)


def test_names_are_a_list():
    with pytest.raises(ValueError, match="idempotent"):
        retrying_tools([], idempotent="place_order")


def test_a_failed_call_of_a_tool(new_peer, patience):
    peer = new_peer()
    agent, _, _ = agent_for(peer, lambda tools: retrying_tools(tools, patience.rules()))
    tools = {tool.original_tool_name: tool for tool in agent.tools}

    failure = tools["limit"].run()

    assert isinstance(failure, McpToolFailure)
    assert (failure.code, failure.retryable) == ("quota_exceeded", True)
    assert failure.as_agent_message() == failure.message
    assert failure.details["error"]["code"] == "quota_exceeded"
    assert peer.calls("limit") == 3


def test_calls_of_a_server_that_is_not_ours(new_peer, patience):
    without, with_us = new_peer(), new_peer()

    def call_all(peer, wrap):
        agent, _, _ = agent_for(peer, wrap)
        results = {tool.original_tool_name: tool.run() for tool in agent.tools if tool.original_tool_name in TOGETHER}
        return {name: str(getattr(result, "message", result)) for name, result in results.items()}

    call_all(without, list)
    told = call_all(with_us, lambda tools: retrying_tools(tools, patience.rules()))

    assert seen_together(without, with_us, {name: told[name] for name in TOGETHER}) == TOGETHER


def test_a_model_is_shown_what_to_do(ask, sent, patience):
    script = [("track_parcel", {"number": f"{next(DEPOTS)}-1042"}), ("shipping_quote", {"country": "AQ", "kilos": 2})]

    before = ask(script)
    after = ask(script, adapter(patience.rules()))

    assert "does not allow this (HTTP 403)" in before
    assert "[permission_denied]" not in before
    assert "[permission_denied] The same call will fail again" in after
    assert "is on the water" not in before
    assert "is on the water" in after
    assert len(sent) == 2 + 4
