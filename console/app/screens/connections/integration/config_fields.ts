/** A field of an integration's configuration, from its JSON Schema. */
export interface ConfigField {
  readonly name: string;
  readonly kind: "text" | "choice" | "choices" | "lines";
  readonly about: string | undefined;
  readonly options: readonly string[];
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  /** What it is unless the viewer says otherwise; lists are joined by line breaks. */
  readonly preset: string;
}

interface Property {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: { readonly enum?: readonly string[] };
  readonly default?: unknown;
}

/** The fields of a configuration, in the order of its schema. */
export function fieldsOf({ config_schema, secrets }: {
  readonly config_schema: Readonly<Record<string, unknown>>;
  readonly secrets: readonly string[];
}): readonly ConfigField[] {
  const { properties = {}, required = [] } = config_schema as {
    readonly properties?: Readonly<Record<string, Property>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const isList = property.type === "array";
    const options = (isList ? property.items?.enum : property.enum) ?? [];
    const preset = property.default ?? "";
    return {
      name,
      kind: isList
        ? options.length > 0 ? "choices" : "lines"
        : options.length > 0
        ? "choice"
        : "text",
      // The descriptions are Markdown.
      about: property.description?.replaceAll("`", ""),
      options,
      isRequired: required.includes(name),
      isSecret: secrets.includes(name),
      preset: Array.isArray(preset) ? preset.join("\n") : String(preset),
    };
  });
}

const linesOf = (text: string): readonly string[] =>
  text.split("\n").map((line) => line.trim()).filter((line) => line !== "");

/** The configuration of what was typed. Empty fields are left out, so that their defaults apply. */
export function configOf(
  fields: readonly ConfigField[],
  typed: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const entries = fields.flatMap(({ name, kind, preset }) => {
    const text = typed[name] ?? preset;
    if (kind === "choices" || kind === "lines") return [[name, linesOf(text)]];
    return text === "" ? [] : [[name, text]];
  });
  return Object.fromEntries(entries);
}
