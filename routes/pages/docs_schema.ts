import { type Html, markup, type Part, prose } from "./html.ts";
import { POINTER } from "../openapi/schemas.ts";
import type { JsonSchema, OpenApi } from "../openapi/types.ts";

/** The fields of a schema as nested lists; nothing for a schema without fields. */
export function fieldList(document: OpenApi, schema: JsonSchema): Html | null {
  return fields(document, schema, []);
}

/** A short name of a schema's type: `array of Agent`, `string | null`. */
export function typeName(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(POINTER, "");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(typeName).join(" | ");
  if (schema.allOf?.[0] !== undefined) return typeName(schema.allOf[0]);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return `array of ${schema.items ? typeName(schema.items) : "any"}`;
  if (isMap(schema)) return `map of ${typeName(schema.additionalProperties)}`;
  const type = [schema.type ?? "any"].flat().join(" | ");
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}

/** The bounds, allowed values, default and example of a value. */
export function constraints(schema: JsonSchema): Html | null {
  const parts: Part[] = [
    range("", schema.minimum, schema.maximum),
    range("length ", schema.minLength, schema.maxLength),
    range("items ", schema.minItems, schema.maxItems),
    schema.pattern !== undefined && markup`pattern <code>${schema.pattern}</code>`,
    allowed(schema),
    schema.default !== undefined &&
    markup`default <code>${JSON.stringify(schema.default)}</code>`,
    schema.examples?.[0] !== undefined &&
    markup`example <code>${JSON.stringify(schema.examples[0])}</code>`,
  ].filter((part) => part !== false && part !== null);
  if (parts.length === 0) return null;
  return markup`<p class="limits">${parts.map((part) => markup`<span>${part}</span>`)}</p>`;
}

/**
 * A minimal value that fits the schema, with its required fields. Schemas inside it are followed at most
 * `depth` levels deep.
 */
export function exampleOf(document: OpenApi, schema: JsonSchema, depth = 6): unknown {
  const { $ref, examples, items, properties = {}, required = [] } = schema;
  if (depth === 0) return null;
  if (examples?.[0] !== undefined) return examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum?.[0] !== undefined) return schema.enum[0];
  if ($ref !== undefined) return exampleOf(document, resolve(document, $ref), depth - 1);
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0] ?? schema.allOf?.[0];
  if (choice !== undefined) return exampleOf(document, choice, depth - 1);
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        required.map((name) => [name, exampleOf(document, properties[name] ?? {}, depth - 1)]),
      );
    case "array":
      return (schema.minItems ?? 0) > 0 && items ? [exampleOf(document, items, depth - 1)] : [];
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    case "boolean":
      return false;
    default:
      return (FORMATS[schema.format ?? ""] ?? "...").padEnd(schema.minLength ?? 0, ".");
  }
}

/** An example of a string by its format; otherwise a placeholder. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "you@example.com",
  uri: "https://example.com",
  "date-time": "2026-01-31T12:00:00.000Z",
};

function fields(document: OpenApi, schema: JsonSchema, inside: readonly string[]): Html | null {
  const pointer = pointerOf(schema);
  // Ends the recursion of a schema that contains itself, which is explained further up.
  if (pointer !== null && inside.includes(pointer)) return null;
  const within = pointer === null ? inside : [...inside, pointer];
  const { properties = {}, required = [] } = objectOf(document, schema);
  const entries = Object.entries(properties);
  if (entries.length === 0) return null;
  const items = entries.map(([name, property]) =>
    field(document, name, property, required.includes(name), within)
  );
  return markup`<ul class="fields">${items}</ul>`;
}

function field(
  document: OpenApi,
  name: string,
  schema: JsonSchema,
  required: boolean,
  inside: readonly string[],
): Html {
  const nested = fields(document, schema, inside);
  return markup`<li><p class="head"><code class="name">${name}</code>
<span class="type">${typeName(schema)}</span>
${required && markup`<span class="required">required</span>`}</p>
${schema.description !== undefined && prose(schema.description)}${constraints(leafOf(schema))}
${
    nested !== null &&
    markup`<details><summary>Fields of <code>${name}</code></summary>${nested}</details>`
  }</li>`;
}

/** The object inside pointers, arrays, maps and `| null`. */
function objectOf(document: OpenApi, schema: JsonSchema): JsonSchema {
  const inner = leafOf(schema);
  return inner.$ref === undefined ? inner : resolve(document, inner.$ref);
}

function leafOf(schema: JsonSchema): JsonSchema {
  if (schema.type === "array" && schema.items !== undefined) {
    const { minItems, maxItems } = schema;
    const bounds = {
      ...(minItems !== undefined && { minItems }),
      ...(maxItems !== undefined && { maxItems }),
    };
    return { ...leafOf(schema.items), ...bounds };
  }
  const choices = (schema.anyOf ?? schema.oneOf)?.filter((choice) => choice.type !== "null");
  if (choices?.[0] !== undefined && choices.length === 1) return leafOf(choices[0]);
  if (isMap(schema)) return leafOf(schema.additionalProperties);
  return schema;
}

const pointerOf = (schema: JsonSchema): string | null => leafOf(schema).$ref ?? null;

function resolve(document: OpenApi, pointer: string): JsonSchema {
  return document.components.schemas[pointer.replace(POINTER, "")] ?? {};
}

function isMap(schema: JsonSchema): schema is JsonSchema & { additionalProperties: JsonSchema } {
  return schema.properties === undefined && typeof schema.additionalProperties === "object";
}

function range(what: string, low: number | undefined, high: number | undefined): Part {
  if (low === undefined && high === undefined) return null;
  if (high === undefined) return markup`${what}at least ${low}`;
  if (low === undefined) return markup`${what}at most ${high}`;
  return low === high ? markup`${what}${low}` : markup`${what}${low} to ${high}`;
}

function allowed(schema: JsonSchema): Part {
  if (schema.enum === undefined) return null;
  return markup`one of ${schema.enum.map((value) => markup`<code>${String(value)}</code> `)}`;
}
