/**
 * A careful classifier of prose (classify.md, C31): what the example knows of it.
 *
 * It looks for words only where they mean something, and gives nothing where nothing tells.
 */

import { proseWait } from "./headers.js";
import { type Json, type JsonObject, isObject, objectInText } from "./json.js";
import { LIMIT, isUsedUp } from "./limits.js";
import {
  type Meaning,
  type Tables,
  defaultsOf,
  meaningOfLoneNumber,
  meaningOfNumber,
  meaningOfStatus,
  meaningOfWord,
} from "./tables.js";

export interface Call {
  tool?: string;
  arguments?: Json;
  /** The number of the JSON-RPC error that the text stood in. */
  number?: number;
  /** Epoch seconds, for waits that are points in time. */
  now?: number;
}

export interface Told extends Meaning {
  retry_after_seconds: number | null;
}

const OUTAGE: Meaning = { code: "internal", category: "transient", retryable: true };
const UNPAID: Meaning = { code: "quota_exceeded", category: "permanent", retryable: false };

const HOST_WORDS =
  /^\s*(?:mcp ?error[ :]{1,2}(?<number>-?\d{1,6}): ?|(?:error|failure) (?:executing|calling|running) (?:tool )?['"`]?(?<name>[\w./:-]+?)['"`]?: |tool execution (?:failed|error):? |error: |toolerror: )/i;
const NO_EVIDENCE = [
  /[a-z][a-z0-9+.-]{1,15}:\/\/[^\s'"<>`]*/gi,
  /```[^`]*```|`[^`\n]*`/g,
  /(?<!\w)(?:'[^\s']+'|"[^\s"]+")(?!\w)/g,
  /(?<![\w/.])\.{0,2}\/[^\s'",;()]+/g,
];
const UNKNOWN_TOOL =
  /\b(?:(?:unknown|no such|unrecognized) tool:? ['"`]?(?<before>[\w./-]+)|tool ['"`]?(?<behind>[\w./-]+)['"`]? (?:is |was )?(?:not found|unknown|does not exist|not registered))/i;
const STATUS =
  /\b(?:http(?:\/[\d.]+)?(?: status)?(?: code)?|status(?: code)?|error(?: code)?|returned|answered|responded with|failed with|got)[ :=(]{1,3}([45]\d\d)\b(?! ?(?:rows?|items?|times|ms|bytes))/;

/** The words of each meaning, on small letters; the first row that matches decides. */
const WORDS: readonly [RegExp, Meaning][] = [
  [
    /\btraceback \(most recent call last\)|\bpanicked\b|nonetype|cannot read propert|\bis not a function\b|\bhas no attribute\b/,
    defaultsOf("tool_panicked"),
  ],
  [
    /\begress\b|\bblocked by [\w ]{0,30}policy\b|\bnetwork blocked\b/,
    defaultsOf("network_blocked"),
  ],
  [LIMIT, defaultsOf("quota_exceeded")],
  [
    /\bquota\b[^.\n]{0,40}\b(?:used up|exhausted|over)\b|\bout of quota\b/,
    defaultsOf("quota_exceeded"),
  ],
  [
    /\bmcp server\b.*\bunreachable\b|\bunreachable\b.*\bmcp server\b/,
    defaultsOf("mcp_server_unreachable"),
  ],
  [
    /\btim(?:ed|ing)[ -]?out\b|\btimeout\b(?![\w ]{0,12}(?:must|should|is not|parameter))|\bdeadline exceeded\b/,
    defaultsOf("tool_timeout"),
  ],
  [
    /\b(?:permission|access) (?:is |was )?denied\b|\bforbidden\b|\b(?:not authorized|unauthorized|unauthenticated)\b|\b(?:incorrect|invalid|missing) (?:api[ _-]?key|token|credentials)\b|\bauthentication (?:is )?(?:required|failed)\b|\bread-only\b|\boutside (?:of )?(?:the )?allowed\b|\bpath traversal\b/,
    defaultsOf("permission_denied"),
  ],
  [
    /\beconn(?:refused|reset|aborted)\b|\benotfound\b|\beai_again\b|\bconnection (?:was )?(?:refused|reset|closed|lost)\b|\bgetaddrinfo\b|\bfetch failed\b|\bcould not resolve host\b|\boverloaded\b|\bdeadlock\b|\b(?:temporarily|service) unavailable\b/,
    OUTAGE,
  ],
  [
    /\bvalidation errors?\b|\b(?:missing|is|are|field) required\b|\binvalid (?:arguments?|parameters?|params|input|value)\b|\b(?:could not|cannot|failed to) parse\b|\bnot found\b|\bdoes not exist\b|\bno such\b|\bunknown tool\b|\bsyntax error\b|\balready exists\b|\bout of range\b|\bnot a valid\b|\binvalid \w+|\bdid not match\b|\bmust be (?:provided|one of|a |an )|\bplease (?:provide|specify)\b/,
    defaultsOf("invalid_arguments"),
  ],
];

/** What a text says of a failed call; undefined where nothing in it tells. */
export function careful(tables: Tables, text: string, call: Call = {}): Told | undefined {
  const { body, number } = peel(text.slice(0, 8192), call);
  const code = number ?? call.number;
  const said = textsIn(call.arguments ?? null);
  const prose = proseOf(body);
  const meant = missingTool(body, call.tool) ?? undefinedName(body, said);
  if (meant !== undefined) return { ...meant, retry_after_seconds: null };
  const words = withoutCaller(prose, [...said, call.tool ?? ""]).toLowerCase();
  const found = meaningOfNumber(tables, code ?? 0, words) ?? ofWords(tables, words);
  const alone = code === undefined ? undefined : meaningOfLoneNumber(tables, code);
  return withWait(found ?? alone, body, words, call.now ?? Date.now() / 1000);
}

/** C31.1: the text without what hosts put in front of it, and the last number there. */
function peel(text: string, call: Call): { body: string; number: number | undefined } {
  let body = text;
  let number: number | undefined;
  for (let left = 32; left > 0; left -= 1) {
    const match = HOST_WORDS.exec(body);
    const name = match?.groups?.["name"];
    const isOther = name !== undefined && !isTool(name, call.tool);
    if (match === null || isOther || body.slice(match[0].length).trim() === "") break;
    number = match.groups?.["number"] === undefined ? number : Number(match.groups["number"]);
    body = body.slice(match[0].length);
  }
  return { body, number };
}

function isTool(name: string, tool: string | undefined): boolean {
  return tool === undefined || name.toLowerCase() === tool.toLowerCase();
}

/** C31.2. */
function missingTool(body: string, tool: string | undefined): Meaning | undefined {
  const match = UNKNOWN_TOOL.exec(body);
  const name = match?.groups?.["before"] ?? match?.groups?.["behind"];
  return name !== undefined && isTool(name, tool) ? defaultsOf("tool_not_found") : undefined;
}

/** C31.8: whose program it is that does not know a name. */
function undefinedName(body: string, said: readonly string[]): Meaning | undefined {
  const name = /\bname '?([\w$]+)'? is not defined|\b([\w$]+) is not defined\b/.exec(body);
  if (name === null) return undefined;
  const isCallers = said.some((text) => text.includes(name[1] ?? name[2] ?? ""));
  return defaultsOf(isCallers ? "invalid_arguments" : "tool_panicked");
}

/** C31.3: the texts, words and statuses of an object, as prose. */
function proseOf(body: string): string {
  const object = objectInText(body);
  return object === undefined ? body : linesOf(object, 4).join("\n") || body;
}

function linesOf(value: Json | undefined, depth: number): string[] {
  if (typeof value === "string") return [value];
  if (depth === 0 || typeof value !== "object" || value === null) return [];
  if (!isObject(value)) return value.flatMap((item) => linesOf(item, depth - 1));
  return Object.entries(value).flatMap(([name, item]) => memberLines(name, item, depth - 1));
}

function memberLines(name: string, item: Json | undefined, depth: number): string[] {
  const plain = name.replace(/[\W_]/g, "").toLowerCase();
  const isStatus = /status|code$/.test(plain) && /^[45]\d\d$/.test(String(item));
  if (isStatus) return [`http status ${String(item)}`];
  return /message|msg|error|detail|title|cause|result|data|reason/.test(plain)
    ? linesOf(item, depth)
    : [];
}

/** C31.4: the text without what the caller sent, and without what is quoted or located. */
function withoutCaller(text: string, said: readonly string[]): string {
  let left = text;
  const values = said.filter((value) => value.trim().length > 3);
  for (const value of values.sort((a, b) => b.length - a.length)) {
    const literal = value.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    left = left.replace(new RegExp(`(?<!\\w)${literal}(?!\\w)`, "g"), "…");
  }
  return NO_EVIDENCE.reduce((rest, pattern) => rest.replace(pattern, "…"), left);
}

function textsIn(value: Json, depth = 4): string[] {
  if (typeof value === "string") return [value];
  if (depth === 0 || typeof value !== "object" || value === null) return [];
  return Object.values(value as JsonObject).flatMap((item) => textsIn(item ?? null, depth - 1));
}

/** C31.5 and C31.6: a status beside a word that says so, else the table of words. */
function ofWords(tables: Tables, words: string): Meaning | undefined {
  const status = STATUS.exec(words)?.[1];
  const row = WORDS.find(([pattern]) => pattern.test(words))?.[1];
  if (status !== undefined && row?.code !== "quota_exceeded")
    return meaningOfStatus(tables, Number(status));
  return (
    row ?? (/^[\w-]{1,64}$/.test(words.trim()) ? meaningOfWord(tables, words.trim()) : undefined)
  );
}

/** C31.7: limits by their words, and waits. */
function withWait(
  meant: Meaning | undefined,
  body: string,
  words: string,
  now: number,
): Told | undefined {
  if (meant === undefined) return undefined;
  const wait = proseWait(body, now);
  const isOver = meant.code === "quota_exceeded" && isUsedUp(words, wait);
  const told = isOver ? UNPAID : meant;
  return { ...told, retry_after_seconds: told.retryable ? wait : null };
}
