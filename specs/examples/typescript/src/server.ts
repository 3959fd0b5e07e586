/**
 * A small MCP server over stdio whose tools fail: `node build/server.js`. Its failures are for
 * any client to read.
 */

import { stdin, stdout } from "node:process";
import { createInterface } from "node:readline";
import { type Envelope, newEnvelope } from "./envelope.js";
import { type Json, type JsonObject, asObject, isObject } from "./json.js";
import { widen } from "./widen.js";
import { META_KEY, type Options, completeResult, unknownTool, writeResult } from "./write.js";

/** A failure with the facts around it, as a tool throws it. */
class ToolFailure extends Error {
  constructor(
    readonly envelope: Envelope,
    readonly options: Options = {},
  ) {
    super(envelope.message);
  }
}

type Tool = (given: JsonObject) => JsonObject;

const FORECAST: JsonObject = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "number" } },
  required: ["city", "degrees"],
};

const TOOLS: Readonly<Record<string, Tool>> = {
  forecast: ({ city }) => {
    if (typeof city !== "string") {
      const envelope = newEnvelope("invalid_arguments", "`city` is required, and is a text.");
      throw new ToolFailure(envelope, {
        facts: { outcome: "not_executed", violations: [{ field: "city" }] },
      });
    }
    return {
      content: [{ type: "text", text: `4.5 degrees in ${city}` }],
      structuredContent: { city, degrees: 4.5 },
    };
  },
  quota: () => {
    const changes = { retry_after_seconds: 30, hint: "Ask for the stored forecast." };
    const envelope = newEnvelope("quota_exceeded", "The daily quota is used up.", changes);
    throw new ToolFailure(envelope, {
      facts: { id: "ts-1", origin: "upstream", upstream_status: 429 },
    });
  },
  no_room: () => {
    throw new ToolFailure(newEnvelope("internal", "The ledger is closed."), { structured: false });
  },
  crash: () => {
    throw new TypeError("undefined is not a function");
  },
  prose: () => ({ content: [{ type: "text", text: "Rate limit reached" }], isError: true }),
};

function listOf(name: string): JsonObject {
  const tool: JsonObject = { name, inputSchema: { type: "object" } };
  const widened = name === "forecast" ? widen(FORECAST) : undefined;
  return widened === undefined ? tool : { ...tool, outputSchema: widened };
}

function call(params: JsonObject): JsonObject {
  const name = String(params["name"]);
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (tool === undefined)
    return writeResult(unknownTool(name), { facts: { outcome: "not_executed" } });
  try {
    return completeResult(tool(asObject(params["arguments"])));
  } catch (error) {
    if (error instanceof ToolFailure) return writeResult(error.envelope, error.options);
    // The text of an accident is for the log, not for the peer.
    return writeResult(
      newEnvelope("tool_panicked", "The tool crashed; the server's log says why."),
    );
  }
}

const METHODS: Readonly<Record<string, (params: JsonObject) => JsonObject>> = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion === "2025-03-26" ? protocolVersion : "2025-11-25",
    capabilities: { tools: {}, experimental: { [META_KEY]: { version: 1 } } },
    serverInfo: { name: "toolfault-example", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: Object.keys(TOOLS).map(listOf) }),
  "tools/call": call,
};

function answer(message: JsonObject): void {
  const { id, method, params } = message;
  if (id === undefined) return;
  const handle = METHODS[String(method)];
  const error: Json = { code: -32601, message: "Method not found" };
  const body = handle === undefined ? { error } : { result: handle(asObject(params)) };
  send({ id, ...body });
}

function send(message: JsonObject): void {
  stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

for await (const line of createInterface({ input: stdin })) {
  const message = parsed(line);
  if (isObject(message)) answer(message);
  else send({ id: null, error: { code: -32700, message: "Parse error" } });
}
