import { z } from "zod";
import { Config } from "../../core/context/config.ts";
import { ENVIRONMENT } from "../../core/context/environment.ts";

/** The parts of a JSON Schema that the table of fields shows. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly required?: readonly string[];
}

/** Puts the tables of the variables and of the fields into docs/configuration.md, in place of those that are there. */
export const withSettingsTables = (page: string): string =>
  withTable(
    withTable(page, ["variable", "default", "meaning"], variableRows()),
    ["field", "type", "default", "meaning"],
    fieldRows(z.toJSONSchema(Config, { io: "input" }) as Schema, ""),
  );

/** Replaces the table whose first column has the same head. */
function withTable(
  page: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const old = RegExp(`^\\| ${head[0]} [^\\n]*\\n(\\|[^\\n]*\\n)*`, "m");
  return page.replace(old, () => table(head, rows));
}

function variableRows(): string[][] {
  const code = (text: string) => text.replaceAll(/\bRELAY_\w+|:memory:|\.relay\/\S+\.kv/g, "`$&`");
  return Object.entries(ENVIRONMENT).map((
    [name, { meaning, default: value = "" }],
  ) => [`\`${name}\``, code(value), code(meaning)]);
}

/** The rows of a schema: one for a value, and one for each field below an object. */
function fieldRows(schema: Schema, path: string, required = false): string[][] {
  const { description, properties, additionalProperties, items } = schema;
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, field]) =>
      fieldRows(field, path === "" ? name : `${path}.${name}`, schema.required?.includes(name))
    );
  }
  if (description === undefined) throw new Error(`${path}: describe this field in its schema`);
  const value = required ? "required" : schema.default === undefined ? "" : codeOf(schema.default);
  const below = additionalProperties || items;
  return [
    [`\`${path}\``, typeOf(schema), value, description],
    ...(below && below.properties ? fieldRows(below, path + (items ? "[]" : ".<name>")) : []),
  ];
}

const codeOf = (value: unknown): string =>
  `\`${typeof value === "string" ? value : JSON.stringify(value).replaceAll(",", ", ")}\``;

/** The type of a value and its bounds, such as `integer from 1 to 365, or null`. */
function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(", ");
  const { type, minimum, maximum, maxLength, maxItems, anyOf, items, additionalProperties } =
    schema;
  if (anyOf !== undefined) return anyOf.map(typeOf).join(", or ");
  if (items !== undefined) return `array of at most ${maxItems}: ${typeOf(items)}`;
  if (additionalProperties) return `map to ${typeOf(additionalProperties)}`;
  if (maxLength !== undefined) return `${type} of at most ${maxLength} characters`;
  return minimum === undefined ? type! : `${type} from ${minimum} to ${maximum}`;
}

/** A Markdown table as `deno fmt` aligns it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => row[at]!.length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |\n`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("");
}
