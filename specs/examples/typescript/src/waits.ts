/**
 * How long somebody asks to wait: one spelling, a member, headers (retry.md, R18). Times are in
 * seconds.
 */

import { type Json, isObject } from "./json.js";

const LONGEST = 2147483647;
const EPOCH_SECONDS = 1e9;
const EPOCH_MILLISECONDS = 1e12;

const NUMBER = "[0-9]{1,18}(?:\\.[0-9]{1,9})?";
const UNITS: readonly [RegExp, number][] = [
  [/^(?:ms|milli)/, 0.001],
  [/^s/, 1],
  [/^m/, 60],
  [/^h/, 3600],
  [/^d/, 86400],
  [/^w/, 604800],
];
const UNIT =
  "(?:ms|msecs?|millis|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?)(?![a-z])";
const PART = new RegExp(`(?:(${NUMBER})|(?:an?|one)(?= )) ?(${UNIT})`, "gi");
const PARTS = new RegExp(
  `^(?:(?:${NUMBER}|(?:an?|one)(?= )) ?${UNIT}(?:,? (?:and )?(?=[0-9]))?){1,6}$`,
  "i",
);
const CLOCK = /^([0-9]{1,3}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,9})?)$/;
const ISO_DURATION =
  /^P(?=[0-9T])(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?(?:T(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,12}(?:\.[0-9]{1,9})?)S)?)?$/;
const ISO_DATE =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]{1,9})?)(?: ?(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?)?$/;
const HTTP_DATE =
  /^[A-Z][a-z]{2,8},? [0-9A-Za-z -]{6,16} [0-9:]{5,8}(?: (?:[0-9]{4}|[A-Z]{1,5}|[+-][0-9]{4}))?$/;

/** The seconds that one spelling asks for; undefined if it is none. `now` is in epoch seconds. */
export function spelled(text: string, now: number, unit = 1): number | undefined {
  const trimmed = text.trim();
  if (trimmed.length > 64) return undefined;
  if (new RegExp(`^${NUMBER}$`).test(trimmed)) return bare(Number(trimmed), now, unit);
  const lasts = duration(trimmed);
  if (lasts !== undefined) return lasts;
  const moment = momentOf(trimmed);
  return moment === undefined ? undefined : Math.max(0, moment - now);
}

function bare(value: number, now: number, unit: number): number {
  if (value >= EPOCH_MILLISECONDS) return Math.max(0, value / 1000 - now);
  if (value >= EPOCH_SECONDS && unit === 1) return Math.max(0, value - now);
  return value * unit;
}

function duration(text: string): number | undefined {
  if (PARTS.test(text)) {
    return [...text.matchAll(PART)].reduce(
      (sum, [, number, unit]) => sum + Number(number ?? 1) * factor(unit),
      0,
    );
  }
  const clock = CLOCK.exec(text);
  if (clock !== null) return Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3]);
  const iso = ISO_DURATION.exec(text);
  if (iso === null) return undefined;
  return [604800, 86400, 3600, 60, 1].reduce(
    (sum, seconds, at) => sum + Number(iso[at + 1] ?? 0) * seconds,
    0,
  );
}

/** The seconds of a unit, by its first letters. */
export function factor(unit: string | undefined): number {
  const lowered = (unit ?? "s").toLowerCase();
  return UNITS.find(([start]) => start.test(lowered))?.[1] ?? 1;
}

/** The epoch seconds of an ISO 8601 or HTTP date; undefined for any other text. */
export function momentOf(text: string): number | undefined {
  const iso = ISO_DATE.exec(text);
  if (iso === null && !HTTP_DATE.test(text)) return undefined;
  const [, day, time = "00:00", zone = "Z"] = iso ?? [];
  const offset = /^(?:UTC|GMT)$/.test(zone) ? "Z" : zone;
  const asUtc = /(?:[A-Z]{1,5}|[+-][0-9]{4})$/.test(text) ? text : `${text} GMT`;
  const milliseconds = Date.parse(iso === null ? asUtc : `${day}T${time}${offset}`);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** Whole seconds, rounded up, or null for what makes no sense. */
function sound(seconds: number | undefined): number | null {
  return seconds !== undefined && seconds >= 0 && seconds <= LONGEST ? Math.ceil(seconds) : null;
}

/** The longest of several waits; null if there is none. */
export function longest(waits: Iterable<number | null>): number | null {
  const known = [...waits].filter((wait) => wait !== null);
  return known.length > 0 ? Math.max(...known) : null;
}

// ---- members

const MEMBER = new RegExp(
  "^(?:retry(?:after|in|delay|at)|tryagain(?:in|after|at)|resets?(?:after|in|at|time)|backoff|waittime|wait(?=[a-z])" +
    "|cooldown|(?:ratelimit|quota)resets?(?:after|in|at|time)?)(?:in|for)?(ms|millis|milliseconds|s|secs?|seconds)?$",
);

/** The wait that a member of an object asks for, or null. */
export function waitOf(name: string, value: Json | undefined, now: number): number | null {
  const plain = name.replace(/[\W_]/g, "").toLowerCase();
  const match = MEMBER.exec(plain);
  if (match === null || name.length > 64) return null;
  const unit = match[1]?.startsWith("m") ? 0.001 : 1;
  const exact = plain.startsWith("retryafter") && match[1] !== undefined;
  const isMoment = /(?:at|resetstime|resettime)$/.test(plain);
  if (isMoment && typeof value === "number" && value < EPOCH_SECONDS) return null;
  return valueWait(value, now, unit, exact);
}

/** The wait that a JSON value is, or null. */
export function valueWait(
  value: Json | undefined,
  now: number,
  unit = 1,
  exact = false,
): number | null {
  if (isObject(value)) return protobufWait(value["seconds"] ?? 0, value["nanos"] ?? 0);
  if (typeof value === "string" && exact && /^[0-9]{1,18}$/.test(value))
    return valueWait(Number(value), now, unit, true);
  if (typeof value === "string") return sound(spelled(value, now, unit));
  if (typeof value !== "number" || !(value >= 0)) return null;
  if (exact) return value * unit <= 4294967295 ? Math.ceil(value * unit) : null;
  return value >= EPOCH_SECONDS / unit ? sound(bare(value, now, 1)) : sound(value * unit);
}

function protobufWait(seconds: Json, nanos: Json): number | null {
  const whole = typeof seconds === "string" && /^[0-9]+$/.test(seconds) ? Number(seconds) : seconds;
  if (typeof whole !== "number" || !Number.isInteger(whole)) return null;
  if (typeof nanos !== "number" || !Number.isInteger(nanos) || nanos < 0 || nanos >= 1e9)
    return null;
  return sound(whole + (nanos > 0 ? 1 : 0));
}

/** The longest wait of all members of a value, to a depth of 6; null if there is none. */
export function waitInJson(value: Json | undefined, now: number, depth = 6): number | null {
  if (typeof value !== "object" || value === null) return null;
  const waits: (number | null)[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (isObject(value)) waits.push(waitOf(name, member, now));
    if (depth > 0) waits.push(waitInJson(member, now, depth - 1));
  }
  return longest(waits);
}
