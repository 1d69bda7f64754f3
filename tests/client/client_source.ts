import type { JsonSchema, Parameter } from "../../routes/openapi/types.ts";

/** The parts of the document that the client's types come from. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
  readonly "x-effect"?: string;
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

/** An operation with its place in the document. */
interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

const HEAD = "// Written by `deno task docs` from docs/openapi.json. Do not edit.\n\n";
/** Pages for browsers, and the protocols that have clients of their own. */
const LEFT_OUT = ["docs", "mcp"];
const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";

/** The text of core/client/types.ts: the schemas of the document, and what each operation takes and answers. */
export function clientTypes(text: string): Promise<string> {
  const document = JSON.parse(text) as Document;
  const endpoints = endpointsOf(document);
  const members = (some: readonly Endpoint[], show: (endpoint: Endpoint) => string) =>
    some.map((endpoint) =>
      `${doc(endpoint.summary)}${JSON.stringify(endpoint.operationId)}: ${show(endpoint)};\n`
    ).join("");
  const calls = members(
    endpoints.filter((endpoint) => !isStream(endpoint) || isRead(endpoint)),
    (endpoint) => `{ ${inputShape(document, endpoint)} answer: ${answerOf(endpoint)} }`,
  );
  const streams = members(
    endpoints.filter(isStream),
    (endpoint) => `{ ${inputShape(document, endpoint)} }`,
  );
  const schemas = Object.entries(document.components.schemas)
    .map(([name, schema]) => declaration(name, schema)).join("");
  return formatted(
    `${HEAD}/** Operations with one answer, by id. */\nexport interface Operations {\n${calls}}\n\n` +
      `/** Operations that answer with a stream of events, by id. */\nexport interface Streams {\n` +
      `${streams}}\n\n${schemas}`,
  );
}

/** The text of core/client/operations.ts: method, path and repetition of each operation. */
export function clientOperations(text: string): Promise<string> {
  const document = JSON.parse(text) as Document;
  const rows = endpointsOf(document).map((endpoint) =>
    `${JSON.stringify(endpoint.operationId)}: ${
      JSON.stringify([endpoint.method, endpoint.path, repetitionOf(document, endpoint)])
    },\n`
  ).join("");
  return formatted(`${HEAD}${TABLE_HEAD}${rows}};\n`);
}

async function formatted(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--ext", "ts", "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const written = new Response(text).body!.pipeTo(child.stdin);
  const [{ stdout }] = await Promise.all([child.output(), written]);
  return new TextDecoder().decode(stdout);
}

const TABLE_HEAD = `import type { Operations, Streams } from "./types.ts";

/**
 * Whether a request may be sent again when its answer is lost: always, only with an \`Idempotency-Key\`, or never.
 */
export type Repetition = "safe" | "keyed" | "never";

/** Method, path and repetition of each operation. */
export const OPERATIONS: Readonly<
  Record<
    keyof Operations | keyof Streams,
    readonly [method: string, path: string, repetition: Repetition]
  >
> = {
`;

const endpointsOf = ({ paths }: Document): Endpoint[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    }))
  ).filter(({ operationId, tags, responses }) =>
    operationId !== "socket.open" && !tags.some((tag) => LEFT_OUT.includes(tag)) &&
    Object.keys(responses).some((status) => status.startsWith("2")) // a redirect is for a browser
  ).sort((a, b) => a.operationId < b.operationId ? -1 : 1);

const isStream = ({ responses }: Endpoint) =>
  responses["200"]?.content?.[STREAM_TYPE] !== undefined;

/** True for a stream that can also be read at once, as JSON. */
const isRead = ({ responses }: Endpoint) => responses["200"]?.content?.[JSON_TYPE] !== undefined;

function repetitionOf(document: Document, endpoint: Endpoint): string {
  if (parametersOf(document, endpoint, "header").some(({ name }) => name === "Idempotency-Key")) {
    return "keyed";
  }
  const { method } = endpoint;
  return endpoint["x-effect"] === "read" || method === "PUT" || method === "DELETE"
    ? "safe"
    : "never";
}

function inputShape(document: Document, endpoint: Endpoint): string {
  const of = (place: Parameter["in"]) => {
    const found = parametersOf(document, endpoint, place);
    const required = found.filter((parameter) => parameter.required).map(({ name }) => name);
    const properties = Object.fromEntries(
      found.map(({ name, schema, description = "" }) => [name, { description, ...schema }]),
    );
    return {
      any: found.length > 0,
      needed: required.length > 0,
      shape: object({ properties, required }),
    };
  };
  const [params, query] = [of("path"), of("query")];
  const body = endpoint.requestBody?.content[JSON_TYPE]?.schema;
  return [
    params.any && `params: ${params.shape};`,
    query.any && `query${query.needed ? "" : "?"}: ${query.shape};`,
    body !== undefined && `body: ${typeOf(body)};`,
  ].filter((part) => part !== false).join(" ");
}

function answerOf({ responses }: Endpoint): string {
  const types = Object.entries(responses).filter(([status]) => status.startsWith("2"))
    .map(([, { content }]) => {
      if (content === undefined) return "undefined";
      const json = content[JSON_TYPE]?.schema;
      return json === undefined ? "string" : typeOf(json);
    });
  return [...new Set(types)].join(" | ");
}

const parametersOf = (
  { components }: Document,
  { parameters = [] }: Endpoint,
  place: Parameter["in"],
): Parameter[] =>
  parameters.map((parameter) =>
    "$ref" in parameter ? components.parameters[nameIn(parameter.$ref)]! : parameter
  ).filter((parameter) => parameter.in === place);

const nameIn = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);

function declaration(name: string, schema: JsonSchema): string {
  const head = doc(schema.description ?? "");
  return schema.properties === undefined
    ? `${head}export type ${name} = ${typeOf(schema)};\n\n`
    : `${head}export interface ${name} ${object(schema)}\n\n`;
}

function typeOf(schema: JsonSchema): string {
  const { $ref, anyOf, oneOf, allOf, type, items } = schema;
  if ($ref !== undefined) return nameIn($ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) {
    return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  }
  const either = anyOf ?? oneOf;
  if (either !== undefined) return [...new Set(either.map(typeOf))].join(" | ");
  if (allOf !== undefined) return allOf.map((part) => `(${typeOf(part)})`).join(" & ");
  if (Array.isArray(type)) {
    return type.map((each) => typeOf({ ...schema, type: each })).join(" | ");
  }
  if (type === "array") {
    const item = typeOf(items ?? {});
    return `readonly ${/[|&]/.test(item) ? `(${item})` : item}[]`;
  }
  if (type === "object") return object(schema);
  return ({
    integer: "number",
    number: "number",
    string: "string",
    boolean: "boolean",
    null: "null",
  })[
    `${type}`
  ] ?? "unknown";
}

function object({ properties = {}, required = [], additionalProperties }: JsonSchema): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    const needed = required.includes(name);
    const type = `${typeOf(schema)}${needed ? "" : " | undefined"}`;
    return `${doc(schema.description ?? "")}readonly ${key}${needed ? "" : "?"}: ${type};`;
  });
  if (members.length > 0) return `{\n${members.join("\n")}\n}`;
  if (additionalProperties === false) return "Readonly<Record<string, never>>";
  const values = typeof additionalProperties === "object"
    ? typeOf(additionalProperties)
    : "unknown";
  return `Readonly<Record<string, ${values}>>`;
}

/** A comment on one line, or nothing without a text. */
const doc = (text: string): string =>
  text === "" ? "" : `/** ${text.replaceAll(/\s+/g, " ").replaceAll("*/", "* /")} */\n`;
