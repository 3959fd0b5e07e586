/** The one writer of results (result.md, W1 to W15). */

import { adviceFor, inert } from "./advice.js";
import { classify } from "./classify.js";
import { type Envelope, encode, newEnvelope } from "./envelope.js";
import { type Json, type JsonObject, isObject } from "./json.js";

export const META_KEY = "io.github.toolfault/error";

export type Guidance = "block" | "inline" | "none";

export interface Options {
  guidance?: Guidance;
  /** False puts the envelope into `_meta`, for an `outputSchema` without room (W13). */
  structured?: boolean;
  /** Facts of W8 without `v` and `error`; a null is left out. */
  facts?: JsonObject;
  /** The revision of the protocol, for W4; undefined where the host adds `resultType`. */
  protocol?: string;
}

/** W15: made before anything can fail. */
const LAST_RESORT = newEnvelope(
  "internal",
  "The tool failed, and so did the report of its failure.",
);

/** The result of a failed call, made of JSON that every peer can read. */
export function writeResult(envelope: Envelope, options: Options = {}): JsonObject {
  try {
    return write(envelope, options);
  } catch {
    return write(LAST_RESORT, { ...options, facts: {} });
  }
}

function write(envelope: Envelope, options: Options): JsonObject {
  const { guidance = "block", structured = true, protocol = "" } = options;
  const wire = jsonSafe(encode(envelope)) as JsonObject;
  const texts = textsOf(envelope, guidance).map((text) => ({
    type: "text",
    text: text.toWellFormed(),
  }));
  const result: JsonObject = { content: texts, isError: true };
  if (protocol >= "2026-07-28") result["resultType"] = "complete";
  const facts = guidance === "none" ? {} : factsOf(options.facts ?? {});
  if (structured) result["structuredContent"] = wire;
  else facts["error"] = wire;
  if (Object.keys(facts).length > 0) result["_meta"] = { [META_KEY]: { v: 1, ...facts } };
  return result;
}

function textsOf(envelope: Envelope, guidance: Guidance): string[] {
  const advice = guidance === "none" ? "" : adviceFor(envelope);
  if (advice === "") return [envelope.message];
  if (guidance === "inline") return [`${inert(envelope.message)}\n${advice}`];
  return [envelope.message, advice];
}

function factsOf(given: JsonObject): JsonObject {
  const known = Object.entries(given).filter(
    ([name, value]) => value !== null && name !== "v" && name !== "error",
  );
  return Object.fromEntries(known.map(([name, value]) => [name, jsonSafe(value)]));
}

/** W14: a copy that is JSON in UTF-8; what lies deeper than 8 levels is text. */
function jsonSafe(value: Json | undefined, depth = 8): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return value ?? null;
  if (depth === 0) return JSON.stringify(value).toWellFormed();
  if (Array.isArray(value)) return value.map((item) => jsonSafe(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, jsonSafe(item, depth - 1)]),
  );
}

/** W5. */
export function unknownTool(name: string): Envelope {
  const hint = "Ask the server for its list of tools, and call one of these.";
  return newEnvelope("tool_not_found", `Unknown tool: ${name}`, { hint });
}

/** W16: a result with `isError` that a tool made by itself gets an envelope from its text. */
export function completeResult(result: JsonObject): JsonObject {
  if (result["isError"] !== true || isObject(result["structuredContent"])) return result;
  const blocks = Array.isArray(result["content"]) ? result["content"].filter(isObject) : [];
  const texts = blocks.map((block) => block["text"]).filter((text) => typeof text === "string");
  return { ...result, structuredContent: encode(classify(texts.join("\n"))) };
}
