/** Our own sentences for models, written and read back (W7, W20). */

import type { Envelope } from "./envelope.js";

const RETRY = "The same call may succeed if it is retried";
const SAYS_WHEN =
  /\b(?:try(?: it)? again|retry(?:ing)?|retried|wait|come back)(?: (?:it|for|after|in|at|least|about)){0,4} (?:(later|now)|(\d{1,10}) ?(?:s|secs?|seconds?))\b/gi;
const POSES =
  /[\n\r\v\f\x85\u2028\u2029][^\S\n]*(?:The same call (?:may succeed if it is retried|will fail again)|Hint:|\[[a-z_]+\])/i;
const ADVICE =
  /\nThe same call may succeed if it is retried (later|now|after \d{1,10} seconds?)\.(?:\nHint: ([^\n]*))?$/;

/** The advice of W7, or an empty text. */
export function adviceFor(envelope: Envelope): string {
  const lines: string[] = [];
  const when = whenOf(envelope.retry_after_seconds);
  if (envelope.retryable && !saysWhen(envelope.message).includes(when))
    lines.push(`${RETRY} ${when}.`);
  const hint = oneLine(envelope.hint ?? "");
  const isSaid = hint.includes(" ") && envelope.message.includes(hint);
  if (hint !== "" && !isSaid) lines.push(`Hint: ${hint}`);
  return lines.join("\n");
}

function whenOf(wait: number | null): string {
  if (wait === null) return "later";
  if (wait === 0) return "now";
  return `after ${wait} second${wait === 1 ? "" : "s"}`;
}

/** When the last 512 characters of a message ask to retry, in the words of the advice. */
function saysWhen(message: string): string[] {
  const found = [...message.slice(-512).matchAll(SAYS_WHEN)];
  return found.map(([, word, seconds]) => word?.toLowerCase() ?? whenOf(Number(seconds)));
}

/** A message that cannot pose as advice. */
export function inert(message: string): string {
  return POSES.test(message) ? oneLine(message) : message;
}

function oneLine(text: string): string {
  return text.split(/\s+/).filter(Boolean).join(" ");
}

export interface Advised {
  message: string;
  wait: number | null;
  hint: string | null;
}

/** A text that ends with the advice, in its parts; undefined for any other text. */
export function readAdvice(text: string): Advised | undefined {
  const match = ADVICE.exec(text);
  if (match === null || match.index === 0) return undefined;
  const [, when = "", hint = null] = match;
  const seconds = when === "now" ? 0 : Number(when.split(" ")[1]);
  return { message: text.slice(0, match.index), wait: when === "later" ? null : seconds, hint };
}
