import { Validator } from "@seriousme/openapi-schema-validator";
import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import { z } from "zod";
import { FAULTS } from "../../../core/fault/fault.ts";
import { EVENT_RIGHTS } from "../../../core/events/streams/rights.ts";
import { MCP_RESOURCES } from "../../../core/access/access.ts";
import { openapi } from "../../../routes/openapi/openapi.ts";
import { faultsOf } from "../../../routes/openapi/faults.ts";
import { collectSchemas } from "../../../routes/openapi/schemas.ts";
import type {
  ApiResponse,
  JsonSchema,
  OpenApi,
  Operation,
  Ref,
} from "../../../routes/openapi/types.ts";
import { type Route, route } from "../../../routes/call/route.ts";
import { Instant } from "../../../routes/schemas/schemas.ts";
import { routes, upgrades } from "../../../routes/index.ts";

const document = openapi(routes, "1.2.3");
const text = JSON.stringify(document);

Deno.test("openapi: is a valid OpenAPI 3.1 document", async () => {
  deq(await new Validator().validate(JSON.parse(text)), { valid: true });
  deq(document.openapi, "3.1.0");
  deq(document.info.version, "1.2.3");
});

Deno.test("openapi: every pointer resolves, and every component is used", () => {
  const pointers = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, pointer]) => pointer!));
  const { securitySchemes: _, ...components } = document.components;
  const there = Object.entries(components).flatMap(([kind, entries]) =>
    Object.keys(entries).map((name) => `#/components/${kind}/${name}`)
  );
  deq([...pointers].filter((pointer) => !there.includes(pointer)), []);
  const shared = there.filter((pointer) => !pointer.startsWith("#/components/parameters/"));
  deq(shared.filter((pointer) => !pointers.has(pointer)), []);
});

Deno.test("openapi: has every route with its access, parameters and effect", () => {
  for (const route of routes) {
    const operation = operationOf(document, route);
    deq(operation.operationId, route.id);
    deq(operation.summary, route.summary);
    deq(operation["x-effect"], route.effect);
    const scopes = "scope" in route.access ? [route.access.scope].flat() : undefined;
    deq(operation["x-required-scopes"], scopes);
    const open = Object.keys(operation.security[0] ?? {}).length === 0;
    deq(open, "public" in route.access, route.id);
    const granted = operation.security.flatMap((requirement) => Object.values(requirement).flat());
    deq([...new Set(granted)], scopes ?? []);
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    deq(namesOf(operation, "path"), inPath, route.id);
    deq(namesOf(operation, "query"), Object.keys(route.query?.shape ?? {}), route.id);
    deq(operation.requestBody !== undefined, route.body !== undefined);
  }
});

Deno.test("openapi: every parameter has a description, and a default where it is optional", () => {
  for (const route of routes) {
    for (const parameter of operationOf(document, route).parameters) {
      if ("$ref" in parameter) continue;
      const { name, description, schema } = parameter;
      ok(description, `${route.id}: ${name}`);
      const left = route.query?.shape[name]?.safeParse(undefined);
      const value = left?.success ? left.data : undefined;
      deq(schema.default, value, `${route.id}: ${name}`);
    }
  }
});

Deno.test("openapi: has every path with an upgrade", () => {
  for (const { path } of upgrades) {
    const operation = document.paths[path]?.get;
    ok(operation?.responses["101"], path);
    ok(operation.responses["426"], path);
  }
});

Deno.test("openapi: describes the socket as an agent's link or an event stream with parameters", () => {
  const { parameters, security } = document.paths["/ws"]!.get!;
  const named = parameters.map((parameter) => "name" in parameter ? parameter.name : "");
  deq(named, [
    "types",
    "agent_id",
    "thread",
    "severity",
    "last_event_id",
    "Sec-WebSocket-Protocol",
  ]);
  const rights = new Set(security.flatMap((one) => Object.values(one).flat()));
  deq([...rights], ["agents:admin", ...EVENT_RIGHTS]);
});

Deno.test("openapi: has the paths of the Model Context Protocol, open to anonymous callers", () => {
  for (const path of MCP_RESOURCES) {
    const operation = document.paths[path]?.post;
    deq(operation?.security[0], {}, path);
    ok((operation?.responses["200"] as ApiResponse).content?.["text/event-stream"], path);
  }
});

Deno.test("openapi: has every success with its schema or its media types", () => {
  for (const route of routes) {
    const { responses } = operationOf(document, route);
    const response = responses[route.success.status] as ApiResponse;
    const types = "content" in route.success
      ? route.success.content
      : "body" in route.success
      ? ["application/json", ...route.success.orStream ? [route.success.orStream] : []]
      : [];
    deq(Object.keys(response.content ?? {}), types, route.id);
    ok(response.headers?.["X-Request-Id"], route.id);
  }
});

Deno.test("openapi: has every fault of every route with its code and sentence", () => {
  for (const route of routes) {
    const { responses } = operationOf(document, route);
    const told = Object.entries(responses).flatMap(([status, response]) => {
      const { content, description, headers } = followed(document, response);
      const media = content?.["application/json"];
      return Object.keys(media?.examples ?? {}).map((code) => {
        const { title } = FAULTS[code as keyof typeof FAULTS];
        ok(description.includes(`\`${code}\`: ${title}`), `${route.id} explains ${code}`);
        deq(headers?.["Retry-After"] !== undefined, ["429", "503"].includes(status));
        return `${status} ${code}`;
      });
    });
    const due = [...new Set(faultsOf(route))].map((code) => `${FAULTS[code].status} ${code}`);
    deq(told.sort(), due.sort(), route.id);
  }
});

Deno.test("openapi: every refusal points to the one error schema", () => {
  const error = { $ref: "#/components/schemas/ApiError" };
  for (const [name, { content }] of Object.entries(document.components.responses)) {
    const { schema } = content!["application/json"]!;
    deq(schema.anyOf?.[0] ?? schema, error, name);
    deq(schema.anyOf !== undefined, name.startsWith("Mcp"), name);
  }
  deq(document.components.schemas.ErrorCode!.enum, Object.keys(FAULTS));
});

Deno.test("openapi: an object or enum that is used in several places is one component", () => {
  const seen = new Map<string, number>();
  for (const { description: _, default: __, examples: ___, ...schema } of schemasIn(document)) {
    const isObject = Object.keys(schema.properties ?? {}).length > 0;
    if (!isObject && (schema.enum ?? []).length < 2) continue;
    const written = JSON.stringify(schema);
    seen.set(written, (seen.get(written) ?? 0) + 1);
  }
  deq([...seen].filter(([, times]) => times > 1), []);
});

Deno.test("openapi: no two components share a name, since generated Go has one namespace", () => {
  const { schemas, responses, parameters } = document.components;
  const names = [schemas, responses, parameters].flatMap((entries) => Object.keys(entries));
  deq(names.filter((name, i) => names.indexOf(name) !== i), []);
});

Deno.test("openapi: no schema has the name of its own list or object, since generated Python reuses the variable", () => {
  for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
    const variable = name.replaceAll(/(?<!^)[A-Z]/g, "_$&").toLowerCase();
    const { items, properties: inner } = properties[variable] ?? {};
    deq(items ?? inner, undefined, name);
  }
});

Deno.test("openapi: patterns suit ECMAScript and Python, and types are single or nullable", () => {
  for (const { type, pattern = "" } of schemasIn(document)) {
    // Classes such as \d hold other characters in Python.
    ok(!/\\[pP]\{|\(\?<[a-z]|\\[zAZdDwWsSbB]/.test(pattern), pattern);
    new RegExp(pattern);
    if (Array.isArray(type)) deq([type.length, type[1]], [2, "null"]);
  }
});

Deno.test("openapi: a list whose entries must differ says so", () => {
  const { content } = operationAt("POST", "/api/v1/api-keys").requestBody!;
  eq(content["application/json"]!.schema.properties!.scopes!.uniqueItems, true);
  const hook = operationAt("POST", "/api/v1/webhooks").requestBody!;
  eq(hook.content["application/json"]!.schema.properties!.events!.uniqueItems, true);
});

Deno.test("openapi: fields that exclude or need each other say so", () => {
  const bodyAt = (method: string, path: string) =>
    operationAt(method, path).requestBody!.content["application/json"]!.schema;
  const without = (...fields: string[]) => ({
    not: { anyOf: fields.map((field) => ({ required: [field] })) },
  });
  const repository = bodyAt("POST", "/api/v1/gitops/repos");
  deq(repository.dependentSchemas, { token: without("username", "password") });
  deq(repository.dependentRequired, { username: ["password"], password: ["username"] });
  const change = bodyAt("PATCH", "/api/v1/webhooks/{id}");
  deq(change.dependentSchemas, { headers: without("custom_headers") });
  eq(change.minProperties, 1);
  const evaluate = bodyAt("POST", "/api/shield/evaluate");
  deq(evaluate.dependentSchemas, { replay: without("commands", "labels") });
});

Deno.test("openapi: a text says what its refinements check", () => {
  const bodyAt = (method: string, path: string) =>
    operationAt(method, path).requestBody!.content["application/json"]!.schema.properties!;
  const matches = ({ pattern = "" }: JsonSchema, text: string) => new RegExp(pattern).test(text);
  const { name } = bodyAt("POST", "/api/v1/ingest-tokens");
  deq(["eu 1", "x", " eu", "eu\u00a0", "a\u0000b"].map((text) => matches(name!, text)), [
    true,
    true,
    false,
    false,
    false,
  ]);
  const { command } = bodyAt("POST", "/api/v1/agents/{id}/commands");
  deq(["ls\n", "a\u0000b"].map((text) => matches(command!, text)), [true, false]);
  const { email } = document.components.schemas.Login!.properties!;
  deq(["a@example.com", "{@example.com"].map((text) => matches(email!, text)), [true, false]);
  eq(bodyAt("POST", "/api/admin/plans").price!.multipleOf, 0.01);
});

Deno.test("openapi: a creation links to reading, changing and deleting", () => {
  const made = (path: string, status: string) =>
    operationAt("POST", path).responses[status] as ApiResponse;
  deq(made("/api/v1/roles", "201").links!["roles.delete"], {
    operationId: "roles.delete",
    parameters: { name: "$response.body#/name" },
  });
  deq(Object.keys(made("/api/v1/webhooks", "201").links!).includes("webhooks.update"), true);
  const command = made("/api/v1/agents/{id}/commands", "202").links!["commands.cancel"]!;
  deq(command.parameters, { id: "$request.path.id", command_id: "$response.body#/command_id" });
});

Deno.test("openapi: a list links to what reads its first entry, and to nothing that changes it", () => {
  const { links } = operationAt("GET", "/api/v1/agents").responses["200"] as ApiResponse;
  deq(links!["agents.get"]!.parameters, { id: "$response.body#/agents/0/id" });
  deq(links!["gitops.guard"]!.parameters, { agent_id: "$response.body#/agents/0/id" });
  eq(links!["agents.delete"], undefined);
});

Deno.test("openapi: rules beyond the schemas name existing paths and stand in the description", () => {
  for (const route of routes) {
    for (const [path, rule] of Object.entries(route.rules ?? {})) {
      const [where, name] = path.split(".");
      const shape = { body: route.body, query: route.query, params: route.params }[where!]?.shape;
      ok(shape !== undefined && name! in shape, `${route.id}: ${path}`);
      const { description } = operationOf(document, route);
      ok(description.includes(`\`${path}\` ${rule}.`), route.id);
    }
  }
});

Deno.test("openapi: faults with one status share a response", () => {
  const one = sample({ faults: ["FORBIDDEN", "COMMAND_BLOCKED"] });
  const response = operationOf(openapi([one], "1"), one).responses["403"] as Ref;
  deq(response.$ref, "#/components/responses/InsufficientScopesOrForbiddenOrCommandBlocked");
});

Deno.test("openapi: a declaration implies its faults", () => {
  const open = sample({ access: { public: "a sample" }, unlimited: true });
  deq(faultsOf(open), ["VALIDATION_FAILED", "FORBIDDEN", "INTERNAL_ERROR", "UNAVAILABLE"]);
  deq(faultsOf(sample({ body: z.strictObject({}) })), [
    "VALIDATION_FAILED",
    "MISSING_CREDENTIALS",
    "INVALID_TOKEN",
    "INVALID_API_KEY",
    "INSUFFICIENT_SCOPES",
    "FORBIDDEN",
    "REQUEST_TIMEOUT",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "RATE_LIMIT_EXCEEDED",
    "INTERNAL_ERROR",
    "UNAVAILABLE",
  ]);
});

Deno.test("openapi: exactly the routes that take Idempotency-Key declare it", () => {
  const keyed = sample({ idempotencyKey: true });
  const key = { $ref: "#/components/parameters/IdempotencyKey" };
  const has = ({ parameters }: Operation) =>
    parameters.some((parameter) => "$ref" in parameter && parameter.$ref === key.$ref);
  ok(has(operationOf(openapi([keyed], "1"), keyed)));
  ok(!has(operationOf(openapi([sample({})], "1"), sample({}))));
});

Deno.test("openapi: tags are in the order of the routes", () => {
  const areas = routes.map(({ id }) => id.split(".")[0]);
  deq(document.tags.map(({ name }) => name), [...new Set(areas), "mcp"]);
});

Deno.test("openapi: is deterministic", () => {
  deq(JSON.stringify(openapi(routes, "1.2.3")), text);
});

Deno.test("collectSchemas: shows inputs as callers write them", () => {
  const { document: shown } = settled((render) => render(z.object({ at: Instant }), "input"));
  const { pattern, examples = [], ...rest } = shown.properties!.at!;
  deq(rest, { type: "string", maxLength: 35 });
  for (const at of examples) ok(new RegExp(pattern!).test(at as string), `${at}`);
});

Deno.test("collectSchemas: names different sides apart, and the schemas that contain them", () => {
  const Inner = z.object({ size: z.int().default(3) }).meta({ id: "Inner" });
  const Outer = z.object({ inner: Inner }).meta({ id: "Outer" });
  const Same = z.object({ name: z.string() }).meta({ id: "Same" });
  const whole = z.object({ outer: Outer, same: Same });
  const { document: shown, schemas } = settled((render) => ({
    sent: render(whole, "input"),
    got: render(whole, "output"),
  }));
  deq(Object.keys(schemas), ["Inner", "InnerInput", "Outer", "OuterInput", "Same"]);
  deq(shown.sent.properties!.outer, { $ref: "#/components/schemas/OuterInput" });
  deq(shown.got.properties!.outer, { $ref: "#/components/schemas/Outer" });
  deq(shown.sent.properties!.same, { $ref: "#/components/schemas/Same" });
  deq(schemas.OuterInput!.properties!.inner, { $ref: "#/components/schemas/InnerInput" });
  deq(schemas.Inner!.required, ["size"]);
  deq(schemas.InnerInput!.required, undefined);
});

Deno.test("collectSchemas: a schema that contains itself points to itself", () => {
  interface Tree {
    readonly kids: readonly Tree[];
  }
  const Tree: z.ZodType<Tree> = z.lazy(() =>
    z.object({ kids: z.array(Tree) }).meta({ id: "Tree" })
  );
  const { schemas } = settled((render) => [render(Tree, "input"), render(Tree, "output")]);
  deq(Object.keys(schemas), ["Tree"]);
  deq(schemas.Tree!.properties!.kids!.items, { $ref: "#/components/schemas/Tree" });
});

Deno.test("collectSchemas: refuses two schemas of one name", () => {
  const one = z.object({ a: z.string() }).meta({ id: "Twin" });
  const schemas = collectSchemas();
  schemas.render(one, "output");
  schemas.render(one, "output");
  const other = z.object({ b: z.string() }).meta({ id: "Twin" });
  throws(() => schemas.render(other, "output"), /Two schemas have the id Twin/);
});

function settled<T>(build: (render: ReturnType<typeof collectSchemas>["render"]) => T) {
  const schemas = collectSchemas();
  return schemas.settle(build(schemas.render));
}

function sample(part: Partial<Route>): Route {
  const base = route({
    id: "samples.get",
    method: "GET",
    path: "/samples",
    summary: "A sample",
    access: { scope: "agents:read" },
    effect: "read",
    success: { status: 200, body: z.object({}) },
    faults: [],
    handle: () => ({}),
  });
  return { ...base, ...part };
}

const operationAt = (method: string, path: string): Operation =>
  document.paths[path]![method.toLowerCase()]!;

/** Every schema of a document, however deep. */
function* schemasIn(node: unknown): Generator<JsonSchema> {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node || "pattern" in node) yield node as JsonSchema;
  for (const value of Object.values(node)) yield* schemasIn(value);
}

function operationOf({ paths }: OpenApi, { path, method }: Route): Operation {
  const operation = paths[path]?.[method.toLowerCase()];
  ok(operation, `${method} ${path} is there`);
  return operation;
}

function followed({ components }: OpenApi, response: ApiResponse | Ref): ApiResponse {
  return "$ref" in response ? components.responses[response.$ref.split("/").at(-1)!]! : response;
}

const namesOf = ({ parameters }: Operation, place: string) =>
  parameters.flatMap((parameter) =>
    "name" in parameter && parameter.in === place ? [parameter.name] : []
  );
