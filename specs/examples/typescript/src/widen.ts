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

function takesEnvelopes(schema: JsonObject): boolean {
  return SAMPLES.every((sample) => fits(schema, sample));
}

type Check = (wanted: Json, value: Json, schema: JsonObject) => boolean;

const isNothing: Check = () => true;

/** A schema with a keyword that is not listed takes nothing, since nobody can tell. */
const CHECKS: Readonly<Record<string, Check>> = {
  type: (wanted, value) => [wanted].flat().some((type) => isOfType(type, value)),
  enum: (wanted, value) => Array.isArray(wanted) && wanted.includes(value),
  const: (wanted, value) => wanted === value,
  minimum: (wanted, value) => typeof value !== "number" || value >= Number(wanted),
  maximum: (wanted, value) => typeof value !== "number" || value <= Number(wanted),
  minLength: (wanted, value) => typeof value !== "string" || value.length >= Number(wanted),
  maxLength: (wanted, value) => typeof value !== "string" || value.length <= Number(wanted),
  items: (wanted, value) => !Array.isArray(value) || value.every((item) => fits(wanted, item)),
  required: (wanted, value) =>
    !isObject(value) || [wanted].flat().every((name) => String(name) in value),
  minProperties: (wanted, value) => !isObject(value) || Object.keys(value).length >= Number(wanted),
  maxProperties: (wanted, value) => !isObject(value) || Object.keys(value).length <= Number(wanted),
  anyOf: (wanted, value) => [wanted].flat().some((branch) => fits(branch, value)),
  allOf: (wanted, value) => [wanted].flat().every((branch) => fits(branch, value)),
  properties: (wanted, value) =>
    !isObject(value) ||
    Object.entries(value).every(([name, item]) => fitsMember(wanted, name, item)),
  additionalProperties: othersFit,
  unevaluatedProperties: othersFit,
  title: isNothing,
  description: isNothing,
  $schema: isNothing,
  $defs: isNothing,
  definitions: isNothing,
};

/** Whether a value matches a schema, as far as the keywords above can tell. */
export function fits(schema: Json, value: Json): boolean {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) return false;
  return Object.entries(schema).every(
    ([keyword, wanted]) => CHECKS[keyword]?.(wanted ?? null, value, schema) ?? false,
  );
}

function fitsMember(properties: Json, name: string, item: Json | undefined): boolean {
  const schema = asObject(properties)[name];
  return schema === undefined || fits(schema, item ?? null);
}

function othersFit(wanted: Json, value: Json, schema: JsonObject): boolean {
  const named = asObject(schema["properties"]);
  const others = isObject(value) ? Object.entries(value).filter(([name]) => !(name in named)) : [];
  return others.every(([, item]) => fits(wanted, item ?? null));
}

function isOfType(type: Json, value: Json): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "null") return value === null;
  if (type === "object") return isObject(value);
  return typeof value === type;
}
