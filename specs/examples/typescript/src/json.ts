/** JSON values, and the little that `JSON.parse` does not tell about a text. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json | undefined };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value itself if it is an object, else an empty one. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/**
 * The object that a text is, without blanks around it; undefined if it is none, or too long
 * (W30).
 */
export function objectInText(text: string): JsonObject | undefined {
  if (text.length > 65536 || !text.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a text is a JSON object or array. */
export function isJsonText(text: string): boolean {
  if (objectInText(text) !== undefined) return true;
  return text.trimStart().startsWith("[") && objectInText(`{"array":${text}}`) !== undefined;
}

/**
 * One member of an object as it is written: E23 and E25 need to see the text of a number, and
 * repetitions.
 */
export interface Member {
  name: string;
  text: string;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/**
 * The members of the object that a valid JSON text is, in their order; none for any other value.
 */
export function membersOf(text: string): Member[] {
  const tokens = text.match(TOKEN) ?? [];
  const members: Member[] = [];
  if (tokens[0] !== "{") return members;
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (token === ":" && depth === 1) {
      members.push({ name: JSON.parse(tokens[at - 1] ?? '""'), text: tokens[at + 1] ?? "" });
    }
  }
  return members;
}
