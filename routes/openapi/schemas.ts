import { z } from "zod";
import type { JsonSchema } from "./types.ts";

/** The side of a schema: what callers send, or what they get. */
export type Io = "input" | "output";

/** The pointer to the schemas of a document. */
export const POINTER = "#/components/schemas/";

/** Collects the schemas of one document; those with a `meta.id` become components. */
export interface Schemas {
  /** Renders one schema. Its pointers are valid after `settle`. */
  readonly render: (schema: z.ZodType, io: Io) => JsonSchema;
  /**
   * Names the components and corrects the pointers in `document`. A schema with equal sides is one component;
   * otherwise its input side is called `<id>Input`.
   * @throws {Error} when two schemas claim one name
   */
  readonly settle: <T>(document: T) => { document: T; schemas: Record<string, JsonSchema> };
}

/**
 * Copies enums to the places that point to them, for readers that do not follow pointers. `definitions` are
 * the schemas at `prefix`.
 */
export function inlineChoices<T>(
  node: T,
  definitions: Readonly<Record<string, JsonSchema>>,
  prefix: string,
): T {
  return JSON.parse(JSON.stringify(node), (_key, value) => {
    const pointer: unknown = value?.$ref;
    if (typeof pointer !== "string" || !pointer.startsWith(prefix)) return value;
    const definition = definitions[pointer.slice(prefix.length)];
    if (definition?.enum === undefined) return value;
    const { $ref: _, ...others } = value;
    return { ...definition, ...others };
  });
}

/** A schema that contains its definitions, for documents without components. */
export function standaloneSchema(schema: z.ZodType, io: Io): JsonSchema {
  const { $schema: _, $defs = {}, ...body } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => tidy(jsonSchema, io),
  });
  const name = typeof body.$ref === "string" ? body.$ref.replace("#/$defs/", "") : null;
  const { [name ?? ""]: root, ...others } = $defs as Record<string, JsonSchema>;
  const rest = Object.fromEntries(Object.entries(others).filter(([, one]) => !one.enum));
  const whole = { ...(root ?? body), ...(Object.keys(rest).length > 0 && { $defs: rest }) };
  return inlineChoices(whole as JsonSchema, others, "#/$defs/");
}

/** A collector for one document. */
export function collectSchemas(): Schemas {
  const found: Readonly<Record<Io, Map<string, string>>> = { input: new Map(), output: new Map() };

  function render(schema: z.ZodType, io: Io): JsonSchema {
    const { $schema: _, $defs = {}, ...body } = z.toJSONSchema(schema, {
      io,
      unrepresentable: "any",
      override: ({ jsonSchema }) => tidy(jsonSchema, io),
    });
    const root = typeof body.$ref === "string" ? body.$ref.replace("#/$defs/", "") : null;
    const point = (pointer: string) => {
      const name = pointer === "#" ? root : pointer.replace("#/$defs/", "");
      if (name === null || name.startsWith("__")) {
        throw new Error("A schema that contains itself needs a `meta.id`.");
      }
      return `${POINTER}${provisional(name, io)}`;
    };
    for (const [name, definition] of Object.entries($defs)) {
      const text = JSON.stringify(repoint(definition, point));
      const before = found[io].get(name);
      if (before !== undefined && before !== text) {
        throw new Error(`Two schemas have the id ${name}.`);
      }
      found[io].set(name, text);
    }
    return repoint(body as JsonSchema, point);
  }

  function settle<T>(document: T): { document: T; schemas: Record<string, JsonSchema> } {
    const names = nameInputs(found);
    const final = (pointer: string) =>
      pointer.startsWith(POINTER)
        ? `${POINTER}${names.get(pointer.slice(POINTER.length)) ?? pointer.slice(POINTER.length)}`
        : pointer;
    const schemas = new Map<string, string>();
    for (const io of ["output", "input"] as const) {
      for (const [id, text] of found[io]) {
        const name = io === "input" ? names.get(provisional(id, io))! : id;
        const settled = JSON.stringify(repoint(JSON.parse(text), final));
        if ((schemas.get(name) ?? settled) !== settled) {
          throw new Error(`Two schemas claim the name ${name}.`);
        }
        schemas.set(name, settled);
      }
    }
    const sorted = [...schemas].sort(([a], [b]) => a < b ? -1 : 1);
    return {
      document: repoint(document, final),
      schemas: Object.fromEntries(sorted.map(([name, text]) => [name, JSON.parse(text)])),
    };
  }

  return { render, settle };
}

const provisional = (id: string, io: Io) => io === "input" ? `${id}:input` : id;

/** The final name of every input side: the two sides count as equal until they are found to differ. */
function nameInputs(found: Readonly<Record<Io, ReadonlyMap<string, string>>>): Map<string, string> {
  const names = new Map([...found.input.keys()].map((id) => [provisional(id, "input"), id]));
  const asNamed = (text: string) =>
    JSON.stringify(repoint(JSON.parse(text), (pointer) => {
      const name = pointer.slice(POINTER.length);
      return POINTER + (names.get(name) ?? name);
    }));
  // A schema with different sides makes the schemas that point to it differ, hence the rounds.
  for (let changed = true; changed;) {
    changed = false;
    for (const [id, text] of found.input) {
      const other = found.output.get(id);
      const key = provisional(id, "input");
      if (other === undefined || names.get(key) !== id || asNamed(text) === other) continue;
      names.set(key, `${id}Input`);
      changed = true;
    }
  }
  return names;
}

function repoint<T>(node: T, point: (pointer: string) => string): T {
  return JSON.parse(
    JSON.stringify(node),
    (key, value) => key === "$ref" && typeof value === "string" ? point(value) : value,
  );
}

/** Removes keywords that zod adds and readers do not need. */
function tidy(schema: z.core.JSONSchema.BaseSchema, io: Io): void {
  // The id is the component's name.
  delete schema.id;
  // A format makes its pattern redundant, except `email`, which is less strict than the pattern.
  if (schema.format !== undefined && schema.format !== "email") delete schema.pattern;
  if (schema.pattern !== undefined) schema.pattern = portable(schema.pattern);
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (io === "output" && schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
  // Responses may gain fields, which clients must not refuse.
  if (io === "output" && schema.additionalProperties === false) delete schema.additionalProperties;
}

/**
 * The same pattern without Unicode classes, which only some dialects know. The class of unpaired surrogates is
 * dropped, because UTF-8 cannot carry them.
 */
function portable(pattern: string): string {
  const same = pattern.replaceAll("\\p{Cc}", "\\u0000-\\u001f\\u007f-\\u009f")
    .replaceAll("\\p{Cs}", "");
  if (/\\p\{/i.test(same)) {
    throw new Error(`Only some dialects of regular expressions support the pattern ${pattern}.`);
  }
  return same;
}
