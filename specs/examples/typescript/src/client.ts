/**
 * Calls the tools of an MCP server over stdio, repeats what is safe to repeat, and prints what it
 * read of each answer.
 *
 * `node build/client.js CALLS COMMAND [ARGUMENT...]`: CALLS is a JSON array of objects with
 * `name` and `arguments`, and `idempotent` where the caller knows. It prints a line of JSON for
 * each call.
 */

import { spawn } from "node:child_process";
import { argv } from "node:process";
import { createInterface } from "node:readline";
import { type JsonObject, asObject } from "./json.js";
import { loadTables, specsAt } from "./load.js";
import { type Found, read } from "./read.js";
import { Budget, DEFAULT_RULES, callWithRetries } from "./retry.js";

const tables = loadTables(specsAt(undefined));

const [, , calls = "[]", command = "", ...args] = argv;
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map<number, (answer: JsonObject) => void>();
let last = 0;

function send(message: JsonObject): void {
  server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function request(method: string, params: JsonObject): Promise<JsonObject> {
  last += 1;
  const id = last;
  const answered = new Promise<JsonObject>((resolve) => waiting.set(id, resolve));
  send({ id, method, params });
  return answered;
}

async function listen(): Promise<void> {
  for await (const line of createInterface({ input: server.stdout })) {
    const message = asObject(JSON.parse(line));
    waiting.get(Number(message["id"]))?.(message);
  }
}

async function callTool(call: JsonObject, tool: JsonObject, budget: Budget): Promise<JsonObject> {
  const readings: (Found | undefined)[] = [];
  const { name, idempotent } = call;
  const host = {
    attempt: (number: number) => {
      const meta: JsonObject =
        number > 1 ? { _meta: { "io.github.toolfault/attempt": number } } : {};
      return request("tools/call", { name, arguments: call["arguments"] ?? {}, ...meta });
    },
    failureOf: (answer: JsonObject) => {
      const found = read(answer, tables);
      readings.push(found);
      return found && { ...found.envelope, outcome: String(found.facts["outcome"] ?? "") };
    },
    sleep: (seconds: number) => new Promise<void>((wake) => setTimeout(wake, seconds * 1000)),
    clock: () => Date.now() / 1000,
    random: () => Math.random(),
  };
  const word = typeof idempotent === "boolean" ? { idempotent } : {};
  // Nobody waits for long here: what asks for more than three seconds is the caller's again.
  const { answer, attempts } = await callWithRetries(
    host,
    budget,
    { ...DEFAULT_RULES, hintMax: 3 },
    { ...word, tool },
  );
  const found = readings.at(-1);
  const failure = found === undefined ? null : { ...found.envelope };
  return {
    failure,
    found_in: found?.foundIn ?? null,
    facts: found?.facts ?? {},
    attempts: attempts.length,
    answer,
  };
}

void listen();
const clientInfo = { name: "toolfault-example", version: "1" };
await request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
send({ method: "notifications/initialized" });
const listed = asObject((await request("tools/list", {}))["result"])["tools"];
const tools = Array.isArray(listed) ? listed.map(asObject) : [];
const budget = new Budget();
for (const call of JSON.parse(calls) as JsonObject[]) {
  const tool = tools.find((one) => one["name"] === call["name"]) ?? {};
  console.log(JSON.stringify(await callTool(call, tool, budget)));
}
server.stdin.end();
server.kill();
