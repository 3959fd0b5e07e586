/** How an answer is compared with what a case expects (runner.md). */

import { type Json, isObject } from "./json.js";

/** What JSON cannot hold, or only at length, written out. */
export function resolve(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => resolve(item) ?? null);
  if (!isObject(value)) return value;
  const { $repeat: repeated, $join: parts, $number: number } = value;
  if (Array.isArray(repeated)) return String(repeated[0]).repeat(Number(repeated[1]));
  if (Array.isArray(parts)) return parts.map(resolve).join("");
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

export function matches(expected: Json | undefined, actual: Json | undefined): boolean {
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

export function isNear(expected: Json | undefined, actual: number | null): boolean {
  if (typeof expected !== "number" || actual === null) return expected === actual;
  return Math.abs(expected - actual) < 1e-9;
}
