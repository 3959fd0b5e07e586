/**
 * Texts of a peer, made safe to show (W17, W30): without control characters, cut to size, and
 * with the values of members that are named as secrets redacted. The suite `redact` asks for more
 * than this example does.
 */

import type { Envelope } from "./envelope.js";

const WINDOW = 8192;
const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b./g;
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const NAMED = /\b([\w-]*(?:password|passwd|secret|token|api[_-]?key))(\s*[=:]\s*)("?)[^\s"&;,]+/gi;
const BEARER = /\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi;

export function clean(text: string, bytes: number): string {
  const shown = text.slice(0, WINDOW).replace(ESCAPES, "").replace(HIDDEN, "");
  const redacted = shown.replace(NAMED, "$1$2$3[redacted]").replace(BEARER, "$1 [redacted]");
  return cut(redacted.toWellFormed().trim() === "" ? "" : redacted.toWellFormed(), bytes);
}

/** At most so many bytes of UTF-8, on a character's boundary. */
function cut(text: string, bytes: number): string {
  let left = bytes;
  let kept = "";
  for (const character of text) {
    left -= bytesOf(character);
    if (left < 0) return kept;
    kept += character;
  }
  return kept;
}

function bytesOf(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}

export const SILENT = "The tool failed without saying why.";

/** An envelope whose texts may be shown; `beside` stands in for an empty message. */
export function cleanEnvelope(envelope: Envelope, beside: readonly string[] = []): Envelope {
  const texts = [envelope.message, ...beside].map((text) => clean(text, 2048));
  const causes = envelope.cause_chain.slice(-8).map((cause) => clean(cause, 400));
  return {
    ...envelope,
    message: texts.find((text) => text !== "") ?? SILENT,
    hint: clean(envelope.hint ?? "", 600) || null,
    cause_chain: causes.filter((cause) => cause !== ""),
  };
}
