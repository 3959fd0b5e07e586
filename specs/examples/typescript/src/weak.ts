/** Weak forms: objects that say something about a failure without being an envelope (E26, W27). */

import { type Call, careful } from "./careful.js";
import {
  type Category,
  type Code,
  type Envelope,
  flagOf,
  foldCategory,
  foldCode,
  isCode,
  newEnvelope,
} from "./envelope.js";
import { type Json, type JsonObject, isObject } from "./json.js";
import {
  type Meaning,
  type Tables,
  defaultsOf,
  meaningOfFreeNumber,
  meaningOfStatus,
  meaningOfWord,
} from "./tables.js";
import { proseWait } from "./headers.js";
import { longest, waitInJson, waitOf } from "./waits.js";

export interface Claim {
  word: string | undefined;
  /** The word is a code of E9, or stands in the envelope's shape. */
  own: boolean;
  status: number | undefined;
  number: number | undefined;
  message: string | undefined;
  retryable: boolean | undefined;
  wait: number | null;
  hint: string | undefined;
  category: Category | undefined;
  causes: string[];
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
const EXPLANATIONS = ["detail", "details", "error_description", "reason"];

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
    if (claim !== undefined && more !== undefined) claim = withWordOf(fill(claim, more), more);
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

function withWordOf(claim: Claim, other: Claim): Claim {
  return claim.word === undefined ? { ...claim, word: other.word, own: other.own } : claim;
}

function readAlone(tables: Tables, object: JsonObject, now: number): Claim | undefined {
  const retryable = firstOf(object, FLAGS, flagOf);
  const texts = [object["category"], object["message"]];
  const isShaped = retryable !== undefined && texts.every((text) => typeof text === "string");
  const word = wordOf(tables, object, isShaped);
  const own = isCode(word) || (isShaped && word !== undefined && word === object["code"]);
  const said = messageOf(object);
  const status = firstOf(object, STATUSES, statusOf);
  const number = numberOf(object["code"]);
  const wait = longest(Object.entries(object).map(([name, value]) => waitOf(name, value, now)));
  const hint = firstOf(object, HINTS, textOf);
  const says = [word, said, status, number, wait ?? undefined, hint, retryable];
  if (says.every((value) => value === undefined)) return undefined;
  const kind = firstOf(object, KINDS, (value) => (typeof value === "string" ? value : undefined));
  const folded = kind === undefined ? undefined : foldCategory(kind);
  const { cause_chain: chain } = object;
  return {
    word,
    own,
    status,
    number,
    message: said ?? firstOf(object, OTHER_MESSAGES, textOf),
    retryable,
    wait,
    hint,
    category: folded === "unknown" && !own ? undefined : folded,
    causes: Array.isArray(chain) ? chain.filter((cause) => typeof cause === "string") : [],
  };
}

/** The message, with the sentence that explains it. */
function messageOf(object: JsonObject): string | undefined {
  const message = firstOf(object, MESSAGES, textOf);
  const texts = EXPLANATIONS.map((name) => textOf(object[name] ?? null));
  const sentence = texts.find((text) => text?.trim().includes(" ") && text !== message);
  if (sentence === undefined) return message;
  if (message === undefined || !message.includes(" ") || sentence.includes(message))
    return sentence;
  return message.includes(sentence) ? message : `${message.replace(/[ .]+$/, "")}. ${sentence}`;
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

function numberOf(value: Json | undefined): number | undefined {
  const isFree = Number.isInteger(value) && Number(value) >= -32768 && Number(value) <= -32000;
  return isFree ? Number(value) : undefined;
}

function wordOf(tables: Tables, object: JsonObject, isShaped: boolean): string | undefined {
  const { code } = object;
  if (typeof code === "string" && code !== "" && (isShaped || isCode(code))) return code;
  const known = (value: Json) => {
    const isKnown = typeof value === "string" && meaningOfWord(tables, value) !== undefined;
    return isKnown ? value : undefined;
  };
  const named = (value: Json) => (typeof value === "string" && value !== "" ? value : undefined);
  return firstOf(object, WORDS, known) ?? firstOf(object, NAMES, named);
}

// ---- what a claim means

/** W27.4: what a message says beyond a word, or a status. */
type Beyond = Readonly<Partial<Record<Code, Code[]>>>;

const BEYOND_WORD: Beyond = {
  permission_denied: ["quota_exceeded"],
  invalid_arguments: ["tool_not_found"],
};
const TELLING: Code[] = [
  ...(["tool_timeout", "quota_exceeded", "permission_denied", "tool_not_found"] as const),
  ...(["network_blocked", "mcp_server_unreachable"] as const),
];
const BEYOND_STATUS: Beyond = {
  permission_denied: ["quota_exceeded"],
  invalid_arguments: TELLING,
  internal: TELLING,
};

function meaningOf(tables: Tables, claim: Claim): Meaning {
  const { word, status, message } = claim;
  const call: Call = claim.number === undefined ? {} : { number: claim.number };
  const told = message === undefined ? undefined : careful(tables, message, call);
  if (claim.own) return defaultsOf(codeOfOwn(word ?? "", told));
  const meant = word === undefined ? undefined : meaningOfWord(tables, word);
  if (meant !== undefined) return choose(meant, told, BEYOND_WORD);
  if (status !== undefined) return choose(meaningOfStatus(tables, status), told, BEYOND_STATUS);
  if (told !== undefined) return told;
  const free = meaningOfFreeNumber(tables, claim.number);
  return free ?? defaultsOf(word === undefined ? "internal" : "unknown");
}

function codeOfOwn(word: string, told: Meaning | undefined): Code {
  if (isCode(word)) return word;
  return told?.code ?? foldCode(word, "0.48");
}

function choose(meant: Meaning, told: Meaning | undefined, beyond: Beyond): Meaning {
  return told !== undefined && beyond[meant.code]?.includes(told.code) ? told : meant;
}

/** The envelope of a claim; `texts` stand beside the object. `now` is in epoch seconds. */
export function envelopeOf(
  tables: Tables,
  claim: Claim,
  texts: readonly string[],
  now: number,
): Envelope {
  const meaning = meaningOf(tables, claim);
  const named = claim.word === undefined ? "" : `The tool failed with the code ${claim.word}.`;
  const said = meaning.retryable ? proseWait(claim.message ?? "", now) : null;
  return {
    ...newEnvelope(meaning.code, claim.message ?? texts[0] ?? named),
    category: claim.category ?? meaning.category,
    retryable: claim.retryable ?? meaning.retryable,
    retry_after_seconds: claim.wait ?? said,
    hint: claim.hint ?? null,
    cause_chain: claim.causes,
  };
}
