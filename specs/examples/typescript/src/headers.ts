/** Waits in headers and in prose (retry.md, R18). Times are in seconds. */

import { factor, longest, momentOf, spelled } from "./waits.js";

const MILLISECONDS = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"];
const VENDOR = /^(?:[a-z0-9.]{1,60}-){1,8}retry-after(?:-seconds)?$/;
const RESET =
  /^((?:[a-z0-9]{1,20}-){0,3}rate-?limit(?:-[a-z0-9]{1,20}){0,3})-reset((?:-[a-z0-9]{1,20}){0,3}?)(?:-?(after|time|at|ms|seconds))?$/;
const LIMIT =
  /\s*(?:"[^"\\]*"|[A-Za-z*][\w.:/*%-]*)((?:\s*;\s*[a-z*][\w.*-]*(?:=[^;,"\s]+|="[^"]*")?)*)\s*(?:,|$)/y;
const ENTRY = /\s*(limit|remaining|reset)\s*=\s*([0-9]{1,16})\s*(?:;[^,]*)?(?:,|$)/y;

function whole(seconds: number | undefined): number | null {
  return seconds !== undefined && seconds >= 0 && seconds <= 2147483647 ? Math.ceil(seconds) : null;
}

/** The wait that an answer's headers ask for, by the first source that has one, or null. */
export function headerWait(
  headers: readonly [string, string][],
  now: number,
  limited = false,
): number | null {
  const known = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
  const clock = momentOf((known.get("date") ?? "").trim()) ?? now;
  const valueOf = (name: string, unit = 1) => whole(spelled(known.get(name) ?? "", clock, unit));
  const vendors = [...known.keys()].filter(
    (name) => VENDOR.test(name) && !MILLISECONDS.includes(name),
  );
  return (
    MILLISECONDS.map((name) => valueOf(name, 0.001)).find((wait) => wait !== null) ??
    valueOf("retry-after") ??
    longest(vendors.map((name) => valueOf(name))) ??
    fieldWait(known.get("ratelimit") ?? "") ??
    resetWait(known, valueOf, limited)
  );
}

/** The longest reset of the limits of a `RateLimit` field of which nothing is left. */
function fieldWait(text: string): number | null {
  const entries = new Map(matchesOf(ENTRY, text).map(([, name, value]) => [name, value]));
  const lists = matchesOf(LIMIT, text).map(
    ([, parameters = ""]) => new Map(parameters.split(";").map(pairOf)),
  );
  const resets = lists
    .filter((limit) => Number(limit.get("r") ?? 1) === 0)
    .map((limit) => limit.get("t"));
  if (Number(entries.get("remaining") ?? 1) === 0) resets.push(entries.get("reset"));
  return longest(resets.map((reset) => whole(Number(reset))));
}

function pairOf(parameter: string): [string, string] {
  const [name = "", value = ""] = parameter.split("=");
  return [name.trim(), value.trim()];
}

/** The matches that cover a text; none if anything between them is malformed. */
function matchesOf(pattern: RegExp, text: string): RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  for (let at = 0; at < text.length;) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return [];
    found.push(match);
    at = pattern.lastIndex;
  }
  return found;
}

type ValueOf = (name: string, unit?: number) => number | null;

function resetWait(
  known: ReadonlyMap<string, string>,
  valueOf: ValueOf,
  limited: boolean,
): number | null {
  const waits: (number | null)[] = [];
  for (const name of known.keys()) {
    const match = RESET.exec(name);
    if (match === null) continue;
    const left = known.get(`${match[1]}-remaining${match[2]}`);
    const isExhausted = left === undefined ? limited : left.trim() !== "" && Number(left) === 0;
    if (isExhausted) waits.push(valueOf(name, match[3] === "ms" ? 0.001 : 1));
  }
  return longest(waits);
}

// ---- prose

const LEAD = new RegExp(
  "\\b(?:(?<named>retry[-_ ]?(?:after|delay)(?:[-_ ]?(?<unit>ms|milliseconds|s|secs?|seconds|minutes?))?)" +
    "|(?:re-?try|try|come back|again|available|resets?|resetting|refresh(?:es)?|lifted|unlock(?:s|ed)?)" +
    "(?: (?:again|it|this|your request|the request|the call))? (?:after|in|at|on|until)" +
    "|next (?:request|call|attempt) (?:is )?(?:allowed|possible) (?:after|in|at)" +
    "|(?<!after )(?<!after a )(?<!while )(?:wait|(?:try|consider|suggest|recommend|by|need|require|worth)s? waiting|back(?:ing)?[ -]?off|cool(?:ing)?[ -]?down|blocked|limited)(?: (?:for|until|time|of)){0,2})" +
    "[\"']?(?<link>[ :=]{1,3})[\"']?(?:(?:a )?(?:wait(?:ing)?|back(?:ing)?[ -]?off|pause) (?:(?:for|of) )?)?(?:(?:at least|about|another|approximately|around|up to|roughly|is) |~)?",
  "gi",
);
const SPELLINGS = [
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]{1,9})?(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\b)?)?/,
  /^[A-Z][a-z]{2,8},? [0-9]{1,2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} [0-9:]{5,8}(?: [A-Z]{1,5})?/,
  /^[0-9]{1,3}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?/,
  /^P(?=[0-9T])[0-9WDTHMS.]+\b/,
  /^(?:(?:[0-9]{1,18}(?:\.[0-9]{1,9})?|(?:an?|one)(?= )) ?(?:ms|msecs?|millis|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?)(?![a-z])(?:,? (?:and )?(?=[0-9]))?){1,6}/i,
];
const BARE =
  /^([0-9]{1,18}(?:\.[0-9]{1,9})?)(?![\d.,:/-]*\d|[\d.]*%| ?(?:more )?(?:attempts?|tries|retries|times|failed|failures|requests?|calls?)\b)/i;

/** The first wait that a text asks for, or null. */
export function proseWait(text: string, now: number): number | null {
  for (const lead of text.slice(0, 8192).matchAll(LEAD)) {
    const seconds = waitAfter(lead, text.slice(lead.index + lead[0].length), now);
    if (seconds !== undefined) return Math.min(Math.ceil(seconds), 2147483647);
  }
  return null;
}

function waitAfter(lead: RegExpExecArray, rest: string, now: number): number | undefined {
  for (const pattern of SPELLINGS) {
    const match = pattern.exec(rest);
    if (match !== null) return spelled(match[0].replace(/[ ,]+$/, ""), now);
  }
  const number = Number(BARE.exec(rest)?.[1] ?? NaN);
  const { named, unit = "s", link } = lead.groups ?? {};
  const isYear = link === " " && number >= 1900 && number <= 2100;
  if (Number.isNaN(number) || isYear) return undefined;
  if (number >= 1e9) return spelled(String(number), now, factor(unit));
  return named === undefined ? undefined : spelled(`${number}${unit}`, now);
}
