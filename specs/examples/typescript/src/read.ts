/** The one reader of answers (result.md, W17 to W30). */

import { readAdvice } from "./advice.js";
import { careful } from "./careful.js";
import { SILENT, clean, cleanEnvelope } from "./clean.js";
import {
  type Category,
  type Code,
  type Envelope,
  flagOf,
  foldCode,
  newEnvelope,
  tryDecode,
} from "./envelope.js";
import {
  type Json,
  type JsonObject,
  asObject,
  isJsonText,
  isObject,
  objectInText,
} from "./json.js";
import {
  type Meaning,
  type Tables,
  defaultsOf,
  meaningOfBareNumber,
  meaningOfNumber,
  meaningOfWord,
} from "./tables.js";
import { type Claim, envelopeOf, readClaim } from "./weak.js";
import { META_KEY } from "./write.js";

const TOOL_FAILURE_KEY = "io.modelcontextprotocol/toolFailure";

export type Place =
  "structured_content" | "meta" | "tool_failure" | "text" | "prose" | "jsonrpc_error" | "exception";

export interface Found {
  envelope: Envelope;
  foundIn: Place;
  /** The object, or the text, as it came (E27). */
  received: unknown;
  /** The facts of W8 that make sense, `outcome` among them. */
  facts: JsonObject;
}

/** The failure in an answer, or undefined for a success. It never throws. */
export function read(answer: unknown, tables: Tables, now = Date.now() / 1000): Found | undefined {
  try {
    const found = new Reader(tables, now).open(answer, 4);
    return found && { ...found, envelope: cleanEnvelope(found.envelope) };
  } catch {
    if (!isFlagged(asObject(answer))) return undefined;
    const envelope = newEnvelope("unknown", "The tool failed, and its answer could not be read.");
    return { envelope, foundIn: "exception", received: answer, facts: {} };
  }
}

/** A member that SDKs also spell in snake_case. */
function member(object: JsonObject, camel: string): Json {
  const snake = camel.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  return object[camel] ?? object[snake] ?? null;
}

function isFlagged(result: JsonObject): boolean {
  return (
    flagOf(member(result, "isError")) === true && member(result, "resultType") !== "input_required"
  );
}

type RpcError = JsonObject & { code: number; message: string };

function isRpcError(value: JsonObject): value is RpcError {
  return Number.isInteger(value["code"]) && typeof value["message"] === "string";
}

/** W29: many HTTP APIs answer a success with the members of an error. */
function saysSuccess({ code, message }: RpcError): boolean {
  const words = /^\W{0,8}(?:ok|okay|success|successful|succeeded|done)\W{0,8}$/i;
  return (code >= 200 && code < 300) || (code >= 0 && words.test(message));
}

class Reader {
  constructor(
    private readonly tables: Tables,
    private readonly now: number,
  ) {}

  /** W29: the failure in what may be wrapped. */
  open(answer: unknown, wrappers: number): Found | undefined {
    if (!isObject(answer) || wrappers < 0) return undefined;
    const isResult = "content" in answer || member(answer, "isError") !== null;
    if (isResult || member(answer, "structuredContent") !== null) {
      return isFlagged(answer) ? this.result(answer) : undefined;
    }
    if (isRpcError(answer)) return saysSuccess(answer) ? undefined : this.rpcError(answer);
    if (isObject(answer["task"])) return this.open(answer["task"], wrappers - 1);
    if (isObject(answer["result"])) return this.open(answer["result"], wrappers - 1);
    const status = answer["status"];
    if ("taskId" in answer && status !== "failed") return undefined;
    const { error = null } = answer;
    if (isObject(error)) return this.rpcError(error);
    if (error !== null) return this.prose(typeof error === "string" ? [error] : [], "unknown", {});
    const said = member(answer, "statusMessage");
    if ("taskId" in answer)
      return this.prose(typeof said === "string" ? [said] : [], "internal", {});
    return wholeIn("structured_content", answer, [], {});
  }

  // ---- results

  private result(result: JsonObject): Found {
    const meta = asObject(result["_meta"]);
    const ours = asObject(meta[META_KEY]);
    const facts = factsOf(ours);
    const texts = textsOf(result["content"]);
    const bodies: [Place, JsonObject][] = [];
    for (const [place, body] of this.places(result, ours, meta, texts)) {
      const whole =
        place === "tool_failure"
          ? this.toolFailure(body, texts, facts)
          : wholeIn(place, body, texts, facts);
      if (whole !== undefined) return whole;
      if (place !== "tool_failure") bodies.push([place, body]);
    }
    for (const [place, body] of bodies) {
      const weak = this.weakIn(place, body, texts, facts);
      if (weak !== undefined) return weak;
    }
    const content = result["content"];
    const isBlank =
      !(Array.isArray(content) || typeof content === "string") || content.length === 0;
    return this.prose(texts, isBlank ? "unknown" : "internal", facts);
  }

  /** W19: the places, strongest first. */
  private *places(
    result: JsonObject,
    ours: JsonObject,
    meta: JsonObject,
    texts: string[],
  ): Generator<[Place, JsonObject]> {
    const structured = member(result, "structuredContent");
    if (isObject(structured)) yield ["structured_content", structured];
    if (isObject(ours["error"])) yield ["meta", ours["error"]];
    const failure = meta[TOOL_FAILURE_KEY];
    if (isObject(failure)) yield ["tool_failure", failure];
    for (const text of texts) {
      const body = objectInText(text);
      if (body !== undefined) yield ["text", body];
    }
    for (const text of texts) {
      const body = behindWords(text);
      if (body !== undefined) yield ["text", body];
    }
  }

  private weakIn(
    place: Place,
    body: JsonObject,
    texts: string[],
    facts: JsonObject,
  ): Found | undefined {
    const prose = texts.filter((text) => !isJsonText(text));
    for (const object of objectsIn(body)) {
      const claim = readClaim(this.tables, object, this.now);
      if (claim === undefined) continue;
      const envelope = envelopeOf(this.tables, claim, prose, this.now);
      const known = { ...statusOf(claim), ...facts };
      return { envelope, foundIn: place, received: object, facts: known };
    }
    return undefined;
  }

  /** The object of SEP-3313 (a2a.md, G15 to G17). */
  private toolFailure(body: JsonObject, texts: string[], facts: JsonObject): Found | undefined {
    const { class: kind, code: word, agentGuidance: guidance, correlationId: id } = body;
    const category = typeof kind === "string" ? CLASSES[kind] : undefined;
    if (category === undefined || typeof word !== "string") return undefined;
    const folded = foldCode(word, "0.48");
    const meant = folded === "unknown" ? meaningOfWord(this.tables, word)?.code : undefined;
    const code = word === "policy_blocked" ? "network_blocked" : (meant ?? folded);
    const said = texts.find((text) => text.trim() !== "" && !isJsonText(text));
    const envelope: Envelope = {
      ...newEnvelope(code, said ?? `The tool failed with the code ${word}.`),
      category: code === "network_blocked" ? "permanent" : category,
      retryable: kind === "reliability" && flagOf(body["retryable"]) === true,
      retry_after_seconds: this.secondsUntil(body["retryNotBefore"]),
      hint: typeof guidance === "string" ? guidance : null,
    };
    if (code === "invalid_arguments" && kind === "capability") envelope.category = "validation";
    const known: JsonObject = typeof id === "string" && id !== "" ? { id: clean(id, 128) } : {};
    return { envelope, foundIn: "tool_failure", received: body, facts: { ...known, ...facts } };
  }

  private secondsUntil(moment: Json | undefined): number | null {
    if (typeof moment !== "number") return null;
    return Math.max(0, Math.ceil((moment - Math.ceil(this.now * 1000)) / 1000));
  }

  // ---- errors of JSON-RPC

  /** W28. */
  private rpcError(error: JsonObject): Found {
    if (!isRpcError(error))
      return this.weakIn("jsonrpc_error", error, [], {}) ?? this.prose([], "unknown", {});
    const { message } = error;
    const data = asObject(error["data"]);
    const ours = asObject(data[META_KEY]);
    const facts = factsOf(ours);
    for (const candidate of [ours["error"], ours, data]) {
      const envelope = tryDecode(candidate);
      if (envelope === undefined) continue;
      return {
        envelope: cleanEnvelope(envelope, [message]),
        foundIn: "jsonrpc_error",
        received: candidate,
        facts,
      };
    }
    const failure = this.toolFailure(asObject(data[TOOL_FAILURE_KEY]), [message], facts);
    if (failure !== undefined) return { ...failure, foundIn: "jsonrpc_error", received: error };
    return this.rpcWords(error.code, message, error, facts);
  }

  private rpcWords(number: number, message: string, error: JsonObject, facts: JsonObject): Found {
    const claim = readClaim(this.tables, asObject(error["data"]), this.now);
    const row = meaningOfNumber(this.tables, number, message);
    const told = careful(this.tables, message, { number, now: this.now });
    const meaning = row ?? told ?? meaningOfBareNumber(this.tables, number);
    const { outcome } = meaning;
    const known: JsonObject = outcome === undefined ? facts : { ...facts, outcome };
    const found = { foundIn: "jsonrpc_error" as const, received: error, facts: known };
    if (claim !== undefined && decides(claim, meaning)) {
      const said = { ...claim, message: message || claim.message };
      const facts = { ...statusOf(claim), ...found.facts };
      return { ...found, envelope: envelopeOf(this.tables, said, [], this.now), facts };
    }
    const envelope: Envelope = {
      ...newEnvelope(meaning.code, message),
      category: meaning.category,
      retryable: claim?.retryable ?? meaning.retryable,
      retry_after_seconds: claim?.wait ?? told?.retry_after_seconds ?? null,
      hint: meaning.hint === true ? NEW_SESSION : null,
    };
    return { ...found, envelope };
  }

  // ---- prose

  /** W20. */
  private prose(texts: string[], otherwise: Code, facts: JsonObject): Found {
    const said = texts.filter((text) => text.trim() !== "");
    const text = said.join("\n");
    const advice = readAdvice(text);
    const message = advice?.message ?? text;
    const known = careful(this.tables, message, { now: this.now });
    const told = known ?? { ...defaultsOf(otherwise), retry_after_seconds: null };
    const envelope: Envelope = {
      ...newEnvelope(told.code, message || SILENT),
      category: told.category,
      retryable: advice !== undefined || told.retryable,
      retry_after_seconds: advice?.wait ?? told.retry_after_seconds,
      hint: advice?.hint ?? (told.hint === true ? NEW_SESSION : null),
    };
    return { envelope, foundIn: "prose", received: said.length === 1 ? said[0] : said, facts };
  }
}

const NEW_SESSION = "Open a new session and try again there.";

const CLASSES: Readonly<Record<string, Category>> = {
  capability: "permanent",
  reliability: "transient",
  governance: "auth",
};

const SDK_WORDS = /^(?:Error executing tool \S+|Error calling tool '[^']*'): $/;

/** The object behind other words of a text, if it is worth to be read (W19.5). */
function behindWords(text: string): JsonObject | undefined {
  const start = text.indexOf("{");
  const body = start > 0 ? objectInText(text.slice(start)) : undefined;
  if (body === undefined) return undefined;
  const isWhole = objectsIn(body).some((object) => tryDecode(object) !== undefined);
  const isWorth = isWhole || body["jsonrpc"] === "2.0" || SDK_WORDS.test(text.slice(0, start));
  return isWorth ? body : undefined;
}

function statusOf(claim: Claim): JsonObject {
  return claim.status === undefined ? {} : { upstream_status: claim.status };
}

/** W28.3: a code of E9 decides, and another word where number and words say little. */
function decides(claim: Claim, meaning: Meaning): boolean {
  const saysLittle =
    !meaning.retryable && (meaning.code === "internal" || meaning.code === "unknown");
  return claim.word !== undefined && (claim.own || saysLittle);
}

/** The object itself, and the objects that its wrappers hold (W19). */
function objectsIn(body: JsonObject): JsonObject[] {
  const inner = ["error", "result", "error_verdict"].map((name) => {
    const value = body[name];
    return typeof value === "string" ? objectInText(value) : value;
  });
  return [body, ...inner.filter(isObject)];
}

function wholeIn(
  place: Place,
  body: JsonObject,
  texts: string[],
  facts: JsonObject,
): Found | undefined {
  for (const object of objectsIn(body)) {
    const envelope = tryDecode(object);
    if (envelope !== undefined)
      return { envelope: cleanEnvelope(envelope, texts), foundIn: place, received: object, facts };
  }
  return undefined;
}

function textsOf(content: Json | undefined): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  const texts = content.slice(0, 64).map((block) => asObject(block)["text"]);
  return texts.filter((text) => typeof text === "string");
}

const ORIGINS = ["tool", "upstream", "adapter", "gateway", "transport"];
const OUTCOMES = ["not_executed", "unknown", "executed"];

/** W8: each fact that makes sense. */
function factsOf(ours: JsonObject): JsonObject {
  const { id, origin, outcome, upstream_status: status, violations } = ours;
  const facts: JsonObject = {};
  if (typeof id === "string" && id !== "") facts["id"] = clean(id, 128);
  if (typeof origin === "string" && ORIGINS.includes(origin)) facts["origin"] = origin;
  if (typeof outcome === "string" && OUTCOMES.includes(outcome)) facts["outcome"] = outcome;
  if (typeof status === "number" && status >= 400 && status <= 599)
    facts["upstream_status"] = status;
  if (Array.isArray(violations)) facts["violations"] = violations.slice(0, 32);
  return facts;
}
