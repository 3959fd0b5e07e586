/**
 * Runs the vectors of the classes server and client: `node build/runner.js [SPECS]`, where SPECS
 * is the folder of the specification, this one if it is left out. It fails if a case does.
 */

import { readdirSync } from "node:fs";
import { argv, exit } from "node:process";
import { matches, resolve } from "./compare.js";
import { DEFAULTS } from "./envelope.js";
import { type JsonObject, asObject } from "./json.js";
import { load, loadTables, specsAt } from "./load.js";
import { operationsOn } from "./operations.js";

const SPECS = specsAt(argv[2]);
const OPERATIONS = operationsOn(loadTables(SPECS));

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

/** A part of the class server that this example does not have. */
const NOT_HERE: Readonly<Record<string, string>> = {
  redact: "This example redacts only what stands beside a name.",
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
