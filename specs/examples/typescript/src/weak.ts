/** Weak forms: objects that say something about a failure without being an envelope (W27). */

import { codeOfProse } from "./classify.js";
import {
  CATEGORIES,
  type Category,
  type Code,
  type Envelope,
  flagOf,
  isCode,
  newEnvelope,
} from "./envelope.js";
import { type Json, type JsonObject, isObject } from "./json.js";
import { type Meaning, type Tables, defaultsOf, meaningOfStatus, meaningOfWord } from "./tables.js";
import { longest, waitInJson, waitOf } from "./waits.js";

export interface Claim {
  word: string | undefined;
  status: number | undefined;
  message: string | undefined;
  retryable: boolean | undefined;
  wait: number | null;
  hint: string | undefined;
  category: Category | undefined;
}

const WORDS = [
  ...[
    "code",
    "error_code",
    "errorCode",
    "error_type",
    "errorType",
    "type",
    "kind",
    "reason",
    "name",
    "status",
  ],
  ...["error", "error_category", "errorCategory", "category"],
];
const NAMES = ["code", "error_code", "errorCode"];
const STATUSES = [
  "status",
  "status_code",
  "statusCode",
  "http_status",
  "httpStatus",
  "code",
  "error_code",
];
const MESSAGES = [
  "message",
  "error",
  "error_message",
  "errorMessage",
  "detail",
  "error_description",
];
const OTHER_MESSAGES = ["details", "description", "title", "summary", "diagnostics"];
const FLAGS = ["retryable", "is_retryable", "isRetryable"];
const HINTS = ["hint", "suggestion", "agentGuidance", "recovery"];
const KINDS = ["category", "errorCategory", "error_category"];

/** What an object claims, with the objects in it; undefined if it is no weak form. */
export function readClaim(
  tables: Tables,
  object: JsonObject,
  now: number,
  depth = 4,
): Claim | undefined {
  const outer = readAlone(tables, object, now);
  if (depth === 0) return outer;
  const within =
    outer?.message === undefined ? (object["error"] ?? object["errors"]) : object["error"];
  const inner = claimIn(tables, within, now, depth);
  let claim = inner === undefined ? outer : fill(inner, outer);
  for (const name of ["data", "extensions"]) {
    const more = claimIn(tables, object[name], now, depth);
    if (claim !== undefined && more !== undefined)
      claim = { ...fill(claim, more), word: claim.word ?? more.word };
  }
  return claim === undefined
    ? undefined
    : { ...claim, wait: claim.wait ?? waitInJson(object, now) };
}

function claimIn(
  tables: Tables,
  value: Json | undefined,
  now: number,
  depth: number,
): Claim | undefined {
  const first = Array.isArray(value) ? value[0] : value;
  return isObject(first) ? readClaim(tables, first, now, depth - 1) : undefined;
}

function fill(claim: Claim, other: Claim | undefined): Claim {
  if (other === undefined) return claim;
  return {
    ...claim,
    status: claim.status ?? other.status,
    retryable: claim.retryable ?? other.retryable,
    wait: claim.wait ?? other.wait,
    hint: claim.hint ?? other.hint,
  };
}

function readAlone(tables: Tables, object: JsonObject, now: number): Claim | undefined {
  const claim: Claim = {
    word: wordOf(tables, object),
    status: firstOf(object, STATUSES, statusOf),
    message: firstOf(object, MESSAGES, textOf),
    retryable: firstOf(object, FLAGS, flagOf),
    wait: longest(Object.entries(object).map(([name, value]) => waitOf(name, value, now))),
    hint: firstOf(object, HINTS, textOf),
    category: firstOf(object, KINDS, categoryOf),
  };
  const { category: _, wait, ...rest } = claim;
  const says = wait !== null || Object.values(rest).some((value) => value !== undefined);
  return says
    ? { ...claim, message: claim.message ?? firstOf(object, OTHER_MESSAGES, textOf) }
    : undefined;
}

function firstOf<T>(
  object: JsonObject,
  names: string[],
  read: (value: Json) => T | undefined,
): T | undefined {
  for (const name of names) {
    const value = read(object[name] ?? null);
    if (value !== undefined) return value;
  }
  return undefined;
}

function textOf(value: Json): string | undefined {
  const first = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" && first.trim() !== "" ? first : undefined;
}

function statusOf(value: Json): number | undefined {
  const number = typeof value === "string" && /^[45]\d\d$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 400 && number <= 599
    ? number
    : undefined;
}

function categoryOf(value: Json): Category | undefined {
  return CATEGORIES.find((category) => category === value && category !== "unknown");
}

function wordOf(tables: Tables, object: JsonObject): string | undefined {
  const code = textOf(object["code"] ?? null);
  if (isCode(code)) return code;
  const known = (value: Json) => {
    const word = textOf(value);
    return word !== undefined && meaningOfWord(tables, word) !== undefined ? word : undefined;
  };
  return firstOf(object, WORDS, known) ?? firstOf(object, NAMES, textOf);
}

// ---- what a claim means

/** W27.4: what a message says beyond a word, or a status. */
const BEYOND_WORD: Readonly<Partial<Record<Code, Code[]>>> = {
  permission_denied: ["quota_exceeded"],
  invalid_arguments: ["tool_not_found"],
};
const TELLING: Code[] = [
  ...(["tool_timeout", "quota_exceeded", "permission_denied", "tool_not_found"] as const),
  ...(["network_blocked", "mcp_server_unreachable"] as const),
];
const BEYOND_STATUS: Readonly<Partial<Record<Code, Code[]>>> = {
  permission_denied: ["quota_exceeded"],
  invalid_arguments: TELLING,
  internal: TELLING,
};

function meaningOf(tables: Tables, claim: Claim): Meaning {
  if (isCode(claim.word)) return defaultsOf(claim.word);
  const told = claim.message === undefined ? undefined : codeOfProse(claim.message);
  const meant = claim.word === undefined ? undefined : meaningOfWord(tables, claim.word);
  if (meant !== undefined) return choose(meant, told, BEYOND_WORD);
  if (claim.status !== undefined)
    return choose(meaningOfStatus(tables, claim.status), told, BEYOND_STATUS);
  return defaultsOf(told ?? (claim.word === undefined ? "internal" : "unknown"));
}

function choose(
  meant: Meaning,
  told: Code | undefined,
  beyond: Partial<Record<Code, Code[]>>,
): Meaning {
  const saysMore = told !== undefined && (beyond[meant.code] ?? []).includes(told);
  return saysMore ? defaultsOf(told) : meant;
}

/** The envelope of a claim; `texts` stand beside the object. */
export function envelopeOf(tables: Tables, claim: Claim, texts: readonly string[]): Envelope {
  const { code, category, retryable } = meaningOf(tables, claim);
  const named = claim.word === undefined ? "" : `The tool failed with the code ${claim.word}.`;
  return {
    ...newEnvelope(code, claim.message ?? texts[0] ?? named),
    category: claim.category ?? category,
    retryable: claim.retryable ?? retryable,
    retry_after_seconds: claim.wait,
    hint: claim.hint ?? null,
  };
}
