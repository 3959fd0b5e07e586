/** An `outputSchema` with room for the envelope (W12), and as much of JSON Schema as that takes. */

import { REQUIRED } from "./envelope.js";
import { type Json, type JsonObject, asObject, isObject } from "./json.js";

const MEMBERS: JsonObject = {
  code: { type: "string" },
  message: { type: "string" },
  category: { type: "string" },
  retryable: { type: "boolean" },
  retry_after_seconds: { type: "integer", minimum: 0 },
  hint: { type: "string" },
  cause_chain: { type: "array", items: { type: "string" } },
};

const SAMPLES: readonly JsonObject[] = [
  {
    code: "quota_exceeded",
    message: "The daily quota is used up.",
    category: "transient",
    retryable: true,
    retry_after_seconds: 3600,
    hint: "Try again tomorrow.",
    cause_chain: ["HTTP 429"],
  },
  { code: "internal", message: "x", category: "permanent", retryable: false },
];

/** The widened schema; undefined if the envelope has no room in it (W13). */
export function widen(schema: JsonObject): JsonObject | undefined {
  if (schema["type"] !== "object") return undefined;
  const candidates = [
    isWidened(schema) ? schema : undefined,
    requiredInChoice(schema),
    nested(schema),
  ];
  return candidates.find((candidate) => candidate !== undefined && takesEnvelopes(candidate));
}

function isWidened(schema: JsonObject): boolean {
  const choices = schema["anyOf"];
  if (!Array.isArray(choices)) return false;
  return choices.some(
    (choice) => JSON.stringify(asObject(choice)["required"]) === JSON.stringify(REQUIRED),
  );
}

function requiredInChoice(schema: JsonObject): JsonObject | undefined {
  if ("anyOf" in schema) return undefined;
  const { required, additionalProperties: _, ...rest } = schema;
  const empty = Object.fromEntries(Object.keys(MEMBERS).map((name) => [name, {}]));
  const widened: JsonObject = {
    ...rest,
    properties: { ...empty, ...asObject(schema["properties"]) },
  };
  if (Array.isArray(required) && required.length > 0)
    widened["anyOf"] = [{ required }, { required: REQUIRED }];
  return widened;
}

function nested(schema: JsonObject): JsonObject | undefined {
  if (JSON.stringify(schema).includes('"$ref":"#"')) return undefined;
  const kept = ["$schema", "$id", "$defs", "definitions"];
  const entries = Object.entries(schema);
  const above = Object.fromEntries(entries.filter(([name]) => kept.includes(name)));
  const own = Object.fromEntries(entries.filter(([name]) => !kept.includes(name)));
  return {
    ...above,
    type: "object",
    anyOf: [own, { type: "object", properties: MEMBERS, required: REQUIRED }],
  };
}

/** The schema has something that is not listed below, so nobody can tell what it takes. */
class Undecided extends Error {}

function takesEnvelopes(schema: JsonObject): boolean {
  try {
    return SAMPLES.every((sample) => fits(schema, sample, schema));
  } catch (error) {
    if (error instanceof Undecided) return false;
    throw error;
  }
}

/** What a keyword wants, the value, the schema around the keyword, and the root for references. */
type Check = (wanted: Json, value: Json, schema: JsonObject, root: JsonObject) => boolean;

const isNothing: Check = () => true;
const listOf = (wanted: Json): Json[] => (Array.isArray(wanted) ? wanted : [wanted]);

const CHECKS: Readonly<Record<string, Check>> = {
  type: (wanted, value) => listOf(wanted).some((type) => isOfType(type, value)),
  enum: (wanted, value) => listOf(wanted).includes(value),
  const: (wanted, value) => wanted === value,
  minimum: (wanted, value) => typeof value !== "number" || value >= Number(wanted),
  maximum: (wanted, value) => typeof value !== "number" || value <= Number(wanted),
  minLength: (wanted, value) => typeof value !== "string" || value.length >= Number(wanted),
  maxLength: (wanted, value) => typeof value !== "string" || value.length <= Number(wanted),
  pattern: (wanted, value) => typeof value !== "string" || new RegExp(String(wanted)).test(value),
  items: (wanted, value, _, root) =>
    !Array.isArray(value) || value.every((one) => fits(wanted, one, root)),
  required: (wanted, value) =>
    !isObject(value) || listOf(wanted).every((name) => String(name) in value),
  minProperties: (wanted, value) => !isObject(value) || Object.keys(value).length >= Number(wanted),
  maxProperties: (wanted, value) => !isObject(value) || Object.keys(value).length <= Number(wanted),
  anyOf: (wanted, value, _, root) => countFitting(wanted, value, root) > 0,
  oneOf: (wanted, value, _, root) => countFitting(wanted, value, root) === 1,
  allOf: (wanted, value, _, root) => countFitting(wanted, value, root) === listOf(wanted).length,
  not: (wanted, value, _, root) => !fits(wanted, value, root),
  $ref: (wanted, value, _, root) => fits(referred(String(wanted), root), value, root),
  properties: membersFit,
  additionalProperties: othersFit,
  unevaluatedProperties: othersFit,
  title: isNothing,
  description: isNothing,
  $schema: isNothing,
  $defs: isNothing,
  definitions: isNothing,
};

/** Whether a value matches a schema. */
function fits(schema: Json, value: Json, root: JsonObject): boolean {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) throw new Undecided();
  return Object.entries(schema).every(([keyword, wanted]) => {
    const check = CHECKS[keyword];
    if (check === undefined) throw new Undecided();
    return check(wanted ?? null, value, schema, root);
  });
}

/** Every branch is asked, so that one that cannot be decided is noticed. */
function countFitting(branches: Json, value: Json, root: JsonObject): number {
  return listOf(branches).filter((branch) => fits(branch, value, root)).length;
}

function referred(reference: string, root: JsonObject): Json {
  if (reference === "#") return root;
  const [, table = "", name = ""] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(reference) ?? [];
  const found = asObject(root[table])[name];
  if (found === undefined) throw new Undecided();
  return found;
}

function membersFit(wanted: Json, value: Json, _: JsonObject, root: JsonObject): boolean {
  const named = asObject(wanted);
  const members = isObject(value) ? Object.entries(value) : [];
  return members.every(([name, item]) => fits(named[name] ?? true, item ?? null, root));
}

function othersFit(wanted: Json, value: Json, schema: JsonObject, root: JsonObject): boolean {
  const named = asObject(schema["properties"]);
  const members = isObject(value) ? Object.entries(value) : [];
  const others = members.filter(([name]) => !(name in named));
  return others.every(([, item]) => fits(wanted, item ?? null, root));
}

function isOfType(type: Json, value: Json): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "null") return value === null;
  if (type === "object") return isObject(value);
  return typeof value === type;
}
