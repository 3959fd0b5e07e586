/** The envelope: its codes, its encoder, its strict decoder (envelope.md). */

import { type Json, type JsonObject, isObject, membersOf } from "./json.js";

export type Category = "transient" | "permanent" | "validation" | "auth" | "unknown";

/** E9: each code with its default category and retry flag. */
export const DEFAULTS = {
  tool_not_found: { category: "permanent", retryable: false },
  tool_timeout: { category: "transient", retryable: true },
  tool_panicked: { category: "permanent", retryable: false },
  invalid_arguments: { category: "validation", retryable: false },
  permission_denied: { category: "auth", retryable: false },
  quota_exceeded: { category: "transient", retryable: true },
  network_blocked: { category: "permanent", retryable: false },
  mcp_server_unreachable: { category: "transient", retryable: true },
  internal: { category: "permanent", retryable: false },
  unknown: { category: "permanent", retryable: false },
} as const satisfies Record<string, { category: Category; retryable: boolean }>;

export type Code = keyof typeof DEFAULTS;

export const CATEGORIES: readonly Category[] = [
  "transient",
  "permanent",
  "validation",
  "auth",
  "unknown",
];
export const MAX_WAIT = 4294967295;

/** Null is none; an empty chain is no chain. */
export interface Envelope {
  code: Code;
  message: string;
  category: Category;
  retryable: boolean;
  retry_after_seconds: number | null;
  hint: string | null;
  cause_chain: string[];
}

export type Revision = "0.36" | "0.48";

export function isCode(value: unknown): value is Code {
  return typeof value === "string" && Object.hasOwn(DEFAULTS, value);
}

export function isCategory(value: unknown): value is Category {
  return CATEGORIES.some((category) => category === value);
}

// ---- making

/** E9, E12: an author's mistake is an error at once. */
export function newEnvelope(code: string, message: string, changes: JsonObject = {}): Envelope {
  if (!isCode(code))
    throw new RangeError(`${code} is not a code; use one of ${Object.keys(DEFAULTS).join(", ")}`);
  const envelope: Envelope = {
    code,
    message,
    ...DEFAULTS[code],
    retry_after_seconds: null,
    hint: null,
    cause_chain: [],
  };
  for (const [name, value] of Object.entries(changes)) change(envelope, name, value ?? null);
  return envelope;
}

function change(envelope: Envelope, name: string, value: Json): void {
  if (name === "category" && isCategory(value)) envelope.category = value;
  else if (name === "retryable" && typeof value === "boolean") envelope.retryable = value;
  else if (name === "retry_after_seconds") envelope.retry_after_seconds = wholeSeconds(value);
  else if (name === "hint" && typeof value === "string") envelope.hint = value;
  else if (name === "causes" && isTexts(value)) envelope.cause_chain = [...value];
  else throw new RangeError(`${JSON.stringify(value)} is no ${name} of an envelope`);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** E12, E13: whole seconds, rounded up. */
export function wholeSeconds(wait: unknown): number {
  if (typeof wait !== "number" || !(wait >= 0 && wait <= MAX_WAIT)) {
    throw new RangeError(
      `a wait is a number of seconds from 0 to ${MAX_WAIT}, not ${String(wait)}`,
    );
  }
  return Math.ceil(wait);
}

// ---- encoding

/** E14 to E16. */
export function encode(envelope: Envelope): JsonObject {
  const { code, message, category, retryable } = envelope;
  const wire: JsonObject = { code, message, category, retryable };
  if (envelope.retry_after_seconds !== null)
    wire["retry_after_seconds"] = envelope.retry_after_seconds;
  if (envelope.hint !== null) wire["hint"] = envelope.hint;
  if (envelope.cause_chain.length > 0) wire["cause_chain"] = envelope.cause_chain;
  return wire;
}

// ---- decoding

export type Kind = "missing-field" | "wrong-type" | "out-of-range" | "duplicate-field";

export class Refusal extends Error {
  constructor(
    readonly kind: Kind,
    readonly field: string,
  ) {
    super(`${kind}: ${field || "the envelope itself"}`);
  }
}

/** E17 to E24. A number is an integer here if its value is one; `decodeText` sees more. */
export function decode(value: unknown, revision: Revision = "0.36"): Envelope {
  if (!isObject(value)) throw new Refusal("wrong-type", "");
  const code = textMember(value, "code");
  const message = textMember(value, "message");
  const category = textMember(value, "category");
  const retryable = required(value, "retryable");
  if (typeof retryable !== "boolean") throw new Refusal("wrong-type", "retryable");
  return {
    code: foldCode(code, revision),
    message,
    category: foldCategory(category),
    retryable,
    retry_after_seconds: waitMember(value["retry_after_seconds"]),
    hint: hintMember(value["hint"]),
    cause_chain: chainMember(value),
  };
}

/** E23, E25: decode a text, straight into an envelope or as a general parser would. */
export function decodeText(text: string, straight: boolean, revision: Revision = "0.36"): Envelope {
  const value: unknown = JSON.parse(text);
  const members = membersOf(text);
  if (straight) refuseRepetition(members.map((member) => member.name));
  const envelope = decode(value, revision);
  const wait = members.findLast((member) => member.name === "retry_after_seconds")?.text ?? "null";
  if (/[.eE]/.test(wait)) throw new Refusal("wrong-type", "retry_after_seconds");
  return envelope;
}

function refuseRepetition(names: string[]): void {
  const contract = [...REQUIRED, "retry_after_seconds", "hint", "cause_chain"];
  const twice = contract.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) throw new Refusal("duplicate-field", twice);
}

export const REQUIRED = ["code", "message", "category", "retryable"];

function required(value: JsonObject, name: string): Json {
  const member = Object.hasOwn(value, name) ? value[name] : undefined;
  if (member === undefined) throw new Refusal("missing-field", name);
  return member;
}

function textMember(value: JsonObject, name: string): string {
  const member = required(value, name);
  if (typeof member !== "string") throw new Refusal("wrong-type", name);
  return member;
}

export function foldCode(code: string, revision: Revision = "0.36"): Code {
  if (code === "insufficient_scope" && revision === "0.48") return "permission_denied";
  return isCode(code) ? code : "unknown";
}

export function foldCategory(category: string): Category {
  return isCategory(category) ? category : "unknown";
}

function waitMember(wait: Json | undefined): number | null {
  if (wait === undefined || wait === null) return null;
  if (typeof wait !== "number" || !Number.isInteger(wait))
    throw new Refusal("wrong-type", "retry_after_seconds");
  if (wait < 0 || wait > MAX_WAIT) throw new Refusal("out-of-range", "retry_after_seconds");
  return wait + 0;
}

function hintMember(hint: Json | undefined): string | null {
  if (hint === undefined || hint === null) return null;
  if (typeof hint !== "string") throw new Refusal("wrong-type", "hint");
  return hint;
}

function chainMember(value: JsonObject): string[] {
  const chain = Object.hasOwn(value, "cause_chain") ? value["cause_chain"] : [];
  if (!isTexts(chain)) throw new Refusal("wrong-type", "cause_chain");
  return [...chain];
}

/** The envelope if the strict decoder takes it, else undefined. */
export function tryDecode(value: unknown): Envelope | undefined {
  try {
    return decode(value, "0.48");
  } catch {
    return undefined;
  }
}

/** A boolean, also as a text (W18, W27). */
export function flagOf(value: unknown): boolean | undefined {
  const text = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (text === true || text === "true") return true;
  return text === false || text === "false" ? false : undefined;
}
