/** The data of the specification, from its folder. */

import { readFileSync } from "node:fs";
import type { Tables } from "./tables.js";

/**
 * The folder of the specification: the one that is named, else the one that this example lies in.
 */
export function specsAt(path: string | undefined): URL {
  if (path === undefined) return new URL("../../../", import.meta.url);
  return new URL(`${path}/`, "file:///");
}

export function load<T>(specs: URL, path: string): T {
  return JSON.parse(readFileSync(new URL(path, specs), "utf8")) as T;
}

export function loadTables(specs: URL): Tables {
  return {
    http: load(specs, "tables/http.json"),
    grpc: load(specs, "tables/grpc.json"),
    words: load(specs, "tables/words.json"),
    jsonrpc: load(specs, "tables/jsonrpc.json"),
  };
}
