/** The exact classifier of prose (classify.md, C1 to C17). */

import { type Code, type Envelope, type Revision, newEnvelope } from "./envelope.js";

type Test = (text: string) => boolean;

const begins =
  (...starts: string[]): Test =>
  (text) =>
    starts.some((start) => text.startsWith(start));
const contains =
  (...parts: string[]): Test =>
  (text) =>
    parts.some((part) => text.includes(part));
const containsAll =
  (...parts: string[]): Test =>
  (text) =>
    parts.every((part) => text.includes(part));

/** C3 to C15, in their order; the first that matches decides. */
const TESTS: readonly [Test, Code][] = [
  [begins("bad_request:", "unprocessable:"), "invalid_arguments"],
  [begins("not_found:"), "tool_not_found"],
  [begins("conflict:"), "invalid_arguments"],
  [begins("forbidden:"), "permission_denied"],
  [begins("internal:"), "internal"],
  [contains("timed out", "timeout"), "tool_timeout"],
  [begins("unknown tool"), "tool_not_found"],
  [begins("missing required parameter"), "invalid_arguments"],
  [contains("invalid argument"), "invalid_arguments"],
  [
    contains("permission denied", "forbidden", "not authorized", "unauthorized"),
    "permission_denied",
  ],
  [contains("quota", "rate limit"), "quota_exceeded"],
  [contains("network blocked", "egress"), "network_blocked"],
  [containsAll("mcp server", "unreachable"), "mcp_server_unreachable"],
  [contains("panicked"), "tool_panicked"],
];

/** The code of a text, or undefined where nothing in it tells (C16). */
export function codeOfProse(text: string, revision: Revision = "0.36"): Code | undefined {
  const lowered = text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
  if (revision === "0.48" && lowered.startsWith("insufficient_scope:")) return "permission_denied";
  return TESTS.find(([test]) => test(lowered))?.[1];
}

/** C17: the defaults of the code, and the message unchanged. */
export function classify(message: string, revision: Revision = "0.36"): Envelope {
  return newEnvelope(codeOfProse(message, revision) ?? "internal", message);
}
