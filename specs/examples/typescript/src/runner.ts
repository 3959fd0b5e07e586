/**
 * Runs the vectors of the classes server and client: `node build/runner.js [SPECS]`, where SPECS
 * is the folder of the specification, this one if it is left out. It fails if a case does.
 */

import { readdirSync } from "node:fs";
import { argv, exit } from "node:process";
import { type Call, careful } from "./careful.js";
import { classify } from "./classify.js";
import {
  DEFAULTS,
  type Envelope,
  Refusal,
  type Revision,
  decode,
  decodeText,
  encode,
  newEnvelope,
} from "./envelope.js";
import { type Json, type JsonObject, asObject, isObject } from "./json.js";
import { load, loadTables, specsAt } from "./load.js";
import { read } from "./read.js";
import * as retry from "./retry.js";
import { headerWait, proseWait } from "./headers.js";
import { judgeGrpc, judgeHttp } from "./upstream.js";
import { valueWait, waitInJson } from "./waits.js";
import { widen } from "./widen.js";
import { type Guidance, type Options, unknownTool, writeResult } from "./write.js";

const SPECS = specsAt(argv[2]);

interface Case {
  case: string;
  rule: string;
  why: string;
  input: JsonObject;
  expect: JsonObject;
}

interface Suite {
  suite: string;
  ours: boolean;
  reason?: string;
  cases: Case[];
}

const tables = loadTables(SPECS);

/** A part of the class server that this example does not have. */
const NOT_HERE: Readonly<Record<string, string>> = {
  redact: "This example redacts only what stands beside a name.",
};

// ---- comparing

/** What JSON cannot hold, or only at length, written out. */
function resolve(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => resolve(item) ?? null);
  if (!isObject(value)) return value;
  const { $repeat: repeated, $join: parts, $number: number } = value;
  if (Array.isArray(repeated)) return String(repeated[0]).repeat(Number(repeated[1]));
  if (Array.isArray(parts)) return parts.join("");
  if (number !== undefined) return Number(number);
  const entries = Object.entries(value).filter(([, item]) => item !== "$absent");
  return Object.fromEntries(entries.map(([name, item]) => [name, resolve(item)]));
}

type Matcher = (actual: string, wanted: Json) => boolean;

const MATCHERS: Readonly<Record<string, Matcher>> = {
  "non-empty-string": (actual) => actual !== "",
  "starts-with": (actual, wanted) => actual.startsWith(String(wanted)),
  carries: (actual, wanted) => actual.includes(String(wanted)),
  "at-most-bytes": (actual, wanted) =>
    actual !== "" && encodeURIComponent(actual).replace(/%../g, "x").length <= Number(wanted),
};

function matches(expected: Json | undefined, actual: Json | undefined): boolean {
  if (isObject(expected) && typeof expected["$match"] === "string") {
    return (
      typeof actual === "string" &&
      MATCHERS[expected["$match"]]?.(actual, expected["value"] ?? null) === true
    );
  }
  if (Array.isArray(expected)) {
    const isAlike = Array.isArray(actual) && actual.length === expected.length;
    return isAlike && expected.every((item, at) => matches(item, actual[at]));
  }
  if (!isObject(expected)) return expected === actual;
  if (!isObject(actual) || Object.keys(actual).length !== Object.keys(expected).length)
    return false;
  return Object.entries(expected).every(
    ([name, item]) => name in actual && matches(item, actual[name]),
  );
}

function isNear(expected: Json | undefined, actual: number | null): boolean {
  if (typeof expected !== "number" || actual === null) return expected === actual;
  return Math.abs(expected - actual) < 1e-9;
}

// ---- operations: each returns what came, under the names of `expect`

type Operation = (input: JsonObject, expect: JsonObject) => JsonObject | Promise<JsonObject>;

const wireOf = (envelope: Envelope): Json => JSON.parse(JSON.stringify(encode(envelope)));
const filled = (envelope: Envelope | undefined): Json =>
  envelope === undefined ? null : { ...envelope };
const revisionOf = (input: JsonObject): Revision =>
  input["revision"] === "0.48" ? "0.48" : "0.36";

function decodeCase(input: JsonObject): JsonObject {
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

function extractCase(input: JsonObject): JsonObject {
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

function httpCase(input: JsonObject): JsonObject {
  const { status, headers, body = "" } = input;
  const answer = { status: Number(status), headers: pairsOf(headers), body: String(body) };
  return { ...judgeHttp(tables, answer, NOW) };
}

function grpcCase(input: JsonObject): JsonObject {
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

function proseCase(input: JsonObject, expect: JsonObject): JsonObject {
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

// ---- running

const OPERATIONS: Readonly<Record<string, Operation>> = {
  new: newCase,
  decode: decodeCase,
  "compare-json": ({ a, b }) => ({ equal: matches(wireOf(decode(a)), wireOf(decode(b))) }),
  classify: (input) => ({ json: wireOf(classify(String(input["message"]), revisionOf(input))) }),
  "tools-call-result": resultCase,
  "write-result": writeCase,
  widen: (input) => ({ json: widen(asObject(input["schema"])) ?? null }),
  "extract-error": extractCase,
  "retry-decide": decideCase,
  "retry-call": callCase,
  wait: waitCase,
  "http-status": withoutWait(httpCase),
  "grpc-status": withoutWait(grpcCase),
  "read-prose": proseCase,
};

async function runCase(one: Case): Promise<string | undefined> {
  const operation = OPERATIONS[String(one.input["op"])];
  if (operation === undefined) return "there is no such operation";
  const expect = asObject(resolve(one.expect));
  const actual = await operation(asObject(resolve(one.input)), expect);
  const { absent, ...rest } = expect;
  const wrong = Object.entries(rest).filter(([name, value]) => !matches(value, actual[name]));
  const extra = Array.isArray(absent)
    ? absent.filter((name) => String(name) in asObject(actual["json"]))
    : [];
  if (wrong.length === 0 && extra.length === 0) return undefined;
  const shown = Object.fromEntries(wrong.map(([name]) => [name, actual[name]]));
  return `expected ${JSON.stringify(Object.fromEntries(wrong))}\n    came     ${JSON.stringify(shown)} ${extra.join(" ")}`;
}

async function runSuite(suite: Suite): Promise<{ failed: number; line: string }> {
  const reason = suite.ours ? NOT_HERE[suite.suite] : suite.reason;
  if (reason !== undefined)
    return { failed: 0, line: `${suite.suite}: ${suite.cases.length} not run. ${reason}` };
  let failed = 0;
  for (const one of suite.cases) {
    const fault = await runCase(one).catch((error: unknown) => `it threw ${String(error)}`);
    if (fault === undefined) continue;
    failed += 1;
    console.log(`FAILED ${one.case} (${one.rule}): ${one.why}\n    ${fault}`);
  }
  return {
    failed,
    line: `${suite.suite}: ${suite.cases.length - failed} of ${suite.cases.length} passed`,
  };
}

function codesDiffer(): boolean {
  const { codes } = load<{ codes: { code: string; category: string; retryable: boolean }[] }>(
    SPECS,
    "codes.json",
  );
  const listed = codes.map(({ code, category, retryable }) => [code, { category, retryable }]);
  return JSON.stringify(listed) !== JSON.stringify(Object.entries(DEFAULTS));
}

const files = readdirSync(new URL("vectors", SPECS)).filter((name) => name.endsWith(".json"));
let failures = codesDiffer() ? 1 : 0;
for (const file of files.filter((name) => name !== "suite.schema.json").sort()) {
  const { failed, line } = await runSuite(load<Suite>(SPECS, `vectors/${file}`));
  failures += failed;
  console.log(line);
}
exit(failures === 0 ? 0 : 1);
