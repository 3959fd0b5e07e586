/**
 * Answers inputs of vectors, one line of JSON each: `node build/answer.js < INPUTS`. What it
 * prints has the form of an `expect`, so that another implementation can be compared with this one
 * on inputs that no case has.
 */

import { argv, stdin } from "node:process";
import { createInterface } from "node:readline";
import { resolve } from "./compare.js";
import { asObject } from "./json.js";
import { loadTables, specsAt } from "./load.js";
import { operationsOn } from "./operations.js";

const operations = operationsOn(loadTables(specsAt(argv[2])));
for await (const line of createInterface({ input: stdin })) {
  const input = asObject(resolve(JSON.parse(line)));
  const operation = operations[String(input["op"])];
  console.log(JSON.stringify(operation === undefined ? null : await operation(input, {})));
}
