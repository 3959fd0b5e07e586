/** The operations of the vectors: each returns what came, under the names of `expect`. */

import { type Call, careful } from "./careful.js";
import { classify } from "./classify.js";
import {
  type Envelope,
  Refusal,
  type Revision,
  decode,
  decodeText,
  encode,
  newEnvelope,
} from "./envelope.js";
import { type Json, type JsonObject, asObject, isObject } from "./json.js";
import { isNear, matches } from "./compare.js";
import { headerWait, proseWait } from "./headers.js";
import { read } from "./read.js";
import * as retry from "./retry.js";
import type { Tables } from "./tables.js";
import { judgeGrpc, judgeHttp } from "./upstream.js";
import { valueWait, waitInJson } from "./waits.js";
import { widen } from "./widen.js";
import { type Guidance, type Options, unknownTool, writeResult } from "./write.js";

export type Operation = (input: JsonObject, expect: JsonObject) => JsonObject | Promise<JsonObject>;

const wireOf = (envelope: Envelope): Json => JSON.parse(JSON.stringify(encode(envelope)));
const filled = (envelope: Envelope | undefined): Json =>
  envelope === undefined ? null : { ...envelope };
const revisionOf = (input: JsonObject): Revision =>
  input["revision"] === "0.48" ? "0.48" : "0.36";

function decodeCase(tables: Tables, input: JsonObject): JsonObject {
  const text = input["json_text"];
  const isLenient = input["mode"] === "lenient";
  if (isLenient) {
    const found = read(
      { isError: true, content: [], structuredContent: input["json"] },
      tables,
      NOW,
    );
    return { value: filled(found?.envelope), raw_code: asObject(found?.received)["code"] };
  }
  try {
    const isStraight = input["via"] === "text-straight-into-type";
    const revision = revisionOf(input);
    const envelope =
      typeof text === "string"
        ? decodeText(text, isStraight, revision)
        : decode(input["json"], revision);
    const given: unknown = typeof text === "string" ? JSON.parse(text) : input["json"];
    return {
      value: filled(envelope),
      reencode: wireOf(envelope),
      raw_code: asObject(given)["code"],
    };
  } catch (error) {
    if (error instanceof Refusal) return { error: { kind: error.kind, field: error.field } };
    throw error;
  }
}

function newCase(input: JsonObject): JsonObject {
  try {
    return {
      json: wireOf(
        newEnvelope(String(input["code"]), String(input["message"]), asObject(input["with"])),
      ),
    };
  } catch {
    return { refused: true };
  }
}

function extractCase(tables: Tables, input: JsonObject): JsonObject {
  const found = read(input["result"] ?? input["answer"], tables, NOW);
  const { outcome = null, ...facts } = found?.facts ?? {};
  const place = found?.foundIn ?? null;
  const raw = asObject(found?.received)["code"];
  return { value: filled(found?.envelope), found_in: place, outcome, facts, raw_code: raw };
}

function resultCase(input: JsonObject): JsonObject {
  const { unknown_tool: name, failure_text: text } = input;
  const envelope = typeof name === "string" ? unknownTool(name) : classify(String(text));
  return { json: writeResult(envelope, { guidance: "none", protocol: String(input["protocol"]) }) };
}

function writeCase(input: JsonObject): JsonObject {
  const { outcome = null, facts, guidance = "block", structured = true } = input;
  const given: JsonObject = { ...asObject(facts), outcome };
  const options: Options = {
    guidance: guidance as Guidance,
    structured: structured === true,
    facts: given,
  };
  const wire = asObject(input["envelope"]);
  // What cannot be written is an author's mistake that types hide.
  const envelope = isObject(input["envelope"]) ? decode(wire) : (null as unknown as Envelope);
  return { json: JSON.parse(JSON.stringify(writeResult(envelope, options))) as Json };
}

const NOW = 1796083200;

function waitCase(input: JsonObject): JsonObject {
  const now = Number(input["now"] ?? NOW);
  if (isObject(input["headers"])) {
    return { seconds: headerWait(pairsOf(input["headers"]), now, input["limited"] === true) };
  }
  if ("json" in input) return { seconds: waitInJson(input["json"], now) };
  if ("prose" in input) return { seconds: proseWait(String(input["prose"]), now) };
  return { seconds: valueWait(input["value"], now) };
}

function pairsOf(headers: Json | undefined): [string, string][] {
  return Object.entries(asObject(headers)).map(([name, value]) => [name, String(value)]);
}

function httpCase(tables: Tables, input: JsonObject): JsonObject {
  const { status, headers, body = "" } = input;
  const answer = { status: Number(status), headers: pairsOf(headers), body: String(body) };
  return { ...judgeHttp(tables, answer, NOW) };
}

function grpcCase(tables: Tables, input: JsonObject): JsonObject {
  const { status, text = "", wait = null, quota = "", again = true } = input;
  const answer = {
    status: typeof status === "number" ? status : String(status),
    text: String(text),
    wait: typeof wait === "number" ? wait : null,
    quota: String(quota),
    again: again === true,
  };
  return { ...judgeGrpc(tables, answer) };
}

function proseCase(tables: Tables, input: JsonObject, expect: JsonObject): JsonObject {
  const { text, tool, arguments: given } = input;
  const call: Call = typeof tool === "string" ? { tool } : {};
  if (given !== undefined) call.arguments = given;
  const told = careful(tables, String(text), call);
  return told === undefined ? { code: null } : { ...expect, ...told };
}

// ---- retries

function rulesOf(input: JsonObject): retry.Rules {
  const {
    attempts,
    timeout,
    hint_max: hintMax,
    wait_jitter: jitter,
    trust_hints: trustHints,
  } = input;
  const rules = { ...retry.DEFAULT_RULES };
  if (typeof attempts === "number") rules.attempts = attempts;
  if (timeout !== undefined) rules.timeout = timeout === null ? Infinity : Number(timeout);
  if (typeof hintMax === "number") rules.hintMax = hintMax;
  if (typeof jitter === "number") rules.jitter = jitter;
  if (typeof trustHints === "boolean") rules.trustHints = trustHints;
  return rules;
}

function failureOf(value: Json | undefined): retry.Failure | undefined {
  return isObject(value) ? (value as unknown as retry.Failure) : undefined;
}

function safetyOf(input: JsonObject): { idempotent?: boolean; tool?: JsonObject } {
  const { idempotent, tool } = input;
  const word = typeof idempotent === "boolean" ? { idempotent } : {};
  return { ...word, tool: asObject(tool) };
}

function decideCase(input: JsonObject, expect: JsonObject): JsonObject {
  const rules = rulesOf(input);
  const budget = new retry.Budget(Number(input["tokens"] ?? 10));
  const failure = failureOf(input["failure"]);
  const { idempotent, tool } = safetyOf(input);
  const situation = {
    failure,
    safe: failure !== undefined && retry.isSafe(failure, rules, idempotent, tool),
    number: Number(input["attempt"]),
    elapsed: Number(input["elapsed"] ?? 0),
    random: Number(input["random"] ?? 0),
    lastCost: 0,
  };
  const decision = retry.decide(situation, budget, rules);
  const wait = decision.again ? decision.wait : null;
  return {
    again: decision.again,
    wait: isNear(expect["wait"], wait) ? expect["wait"] : wait,
    reason: decision.again ? null : decision.reason,
    tokens: isNear(expect["tokens"], budget.tokens) ? expect["tokens"] : budget.tokens,
  };
}

async function callCase(input: JsonObject, expect: JsonObject): Promise<JsonObject> {
  const answers = Array.isArray(input["answers"]) ? input["answers"] : [];
  const budget = new retry.Budget(Number(input["tokens"] ?? 10));
  let now = 0;
  const host: retry.Host<number> = {
    attempt: async (number) => {
      now += Number(input["each_takes"] ?? 0);
      return number;
    },
    failureOf: (number) => failureOf(answers[number - 1]),
    sleep: async (seconds) => {
      now += seconds;
    },
    clock: () => now,
    random: () => Number(input["random"] ?? 0),
  };
  const { answer, attempts } = await retry.callWithRetries(
    host,
    budget,
    rulesOf(input),
    safetyOf(input),
  );
  const wanted = Array.isArray(expect["attempts"]) ? expect["attempts"].map(asObject) : [];
  const near = attempts.map(({ wait, reason }, at) => {
    const expected = wanted[at]?.["wait"];
    return { wait: isNear(expected, wait) ? expected : wait, reason };
  });
  const tokens = isNear(expect["tokens"], budget.tokens) ? expect["tokens"] : budget.tokens;
  return { attempts: near, result: answer, tokens };
}

/** A status without a wait in `expect` expects none. */
function withoutWait(operation: Operation): Operation {
  return (input, expect) => {
    expect["retry_after_seconds"] ??= null;
    return operation(input, expect);
  };
}

// ---- all of them

/** The operations by their names. */
export function operationsOn(tables: Tables): Readonly<Record<string, Operation>> {
  return {
    new: newCase,
    decode: (input) => decodeCase(tables, input),
    "compare-json": ({ a, b }) => ({ equal: matches(wireOf(decode(a)), wireOf(decode(b))) }),
    classify: (input) => ({ json: wireOf(classify(String(input["message"]), revisionOf(input))) }),
    "tools-call-result": resultCase,
    "write-result": writeCase,
    widen: (input) => ({ json: widen(asObject(input["schema"])) ?? null }),
    "extract-error": (input) => extractCase(tables, input),
    "retry-decide": decideCase,
    "retry-call": callCase,
    wait: waitCase,
    "http-status": withoutWait((input) => httpCase(tables, input)),
    "grpc-status": withoutWait((input) => grpcCase(tables, input)),
    "read-prose": (input, expect) => proseCase(tables, input, expect),
  };
}
