/**
 * Reads answers, one line of JSON each, and prints what it found: `node build/reader.js [SPECS] <
 * ANSWERS`.
 */

import { argv, stdin } from "node:process";
import { createInterface } from "node:readline";
import { loadTables, specsAt } from "./load.js";
import { read } from "./read.js";

const tables = loadTables(specsAt(argv[2]));
for await (const line of createInterface({ input: stdin })) {
  const found = read(JSON.parse(line), tables);
  const shown = found && { failure: found.envelope, found_in: found.foundIn, facts: found.facts };
  console.log(JSON.stringify(shown ?? { failure: null }));
}
