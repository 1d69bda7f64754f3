import { IDEMPOTENCY_KEY } from "../../core/work/work.ts";
import { SCOPES } from "../../core/identity/identity.ts";
import { FAULTS } from "../../core/fault/fault.ts";
import { ERROR_SCHEMAS, EVERY_RESPONSE, faultResponses, faultsOf, HEADERS } from "./faults.ts";
import { bodyBytesMaxOf } from "../http/open_body.ts";
import { collectSchemas, type Schemas } from "./schemas.ts";
import { linksOf } from "./links.ts";
import { MCP_SCHEMAS, mcpOperations } from "./mcp.ts";
import { SOCKET_SCHEMAS, socketOperation } from "./socket.ts";
import type { ApiResponse, JsonSchema, OpenApi, Operation, Parameter } from "./types.ts";
import type { Access, Route } from "../call/route.ts";
import { Space } from "../schemas/schemas.ts";
import { StreamQuery } from "../schemas/event_stream.ts";

const SECURITY_SCHEMES = {
  bearer_jwt: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The JWT of a signed-in user: the `token` from `POST /api/v1/login`.",
  },
  bearer_api_key: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "API key",
    description:
      "An API key, `svc_live_…` or `svc_test_…`. Responses to the old value of a rotated key " +
      "carry `Deprecation` (RFC 9745, since when) and `Sunset` (RFC 8594, until when).",
  },
  api_key_header: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "An API key in its own header.",
  },
} as const;

const parametersOf = (schemas: Schemas): Record<string, Parameter> => ({
  SpaceHeader: {
    name: "X-Relay-Space",
    in: "header",
    required: false,
    description: "The space of a signed-in user's request. An API key belongs to one space.",
    schema: { ...schemas.render(Space, "input"), default: "live" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "A value that you choose. A repeated request gets the first response.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: IDEMPOTENCY_KEY.source },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "The `ETag` of your copy. The response is 304 if it is still current.",
    schema: { type: "string" },
  },
});

/** Schemas that no route declares. */
const OWN_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...ERROR_SCHEMAS,
  ...MCP_SCHEMAS,
  ...SOCKET_SCHEMAS,
};

const ABOUT = [
  "Relay runs commands on remote machines. It authenticates the caller, inspects the " +
  "command, relays it to an agent, records the outcome and reports it by webhooks and " +
  "event streams.",
  "Bodies are JSON; unknown fields are refused. Times are ISO 8601 in UTC; ids are opaque. " +
  "Another organization's resources are answered like missing ones. Rules beyond the " +
  "schemas are in `x-rules`. Text lengths count UTF-16 code units, password lengths count " +
  "characters.",
].join("\n\n");

const SUCCESSES: Readonly<Record<number, string>> = {
  200: "Success.",
  201: "Created.",
  202: "Accepted; the work continues in the background.",
  204: "Success, without a body.",
};

/** Renders the declarations that the server mounts, so that the document cannot drift from the code. */
export function openapi(routes: readonly Route[], version: string): OpenApi {
  const schemas = collectSchemas();
  const responses: Record<string, ApiResponse> = {};
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(
      route,
      routes,
      schemas,
      responses,
    );
  }
  paths["/ws"] = { get: socketOperation(parameters(StreamQuery, "query", schemas), responses) };
  Object.assign(paths, mcpOperations(responses));
  const settled = schemas.settle({
    paths,
    responses: sorted(responses),
    parameters: parametersOf(schemas),
  });
  for (const name of Object.keys(OWN_SCHEMAS)) {
    if (name in settled.schemas) throw new Error(`The schema id ${name} is reserved.`);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Relay",
      version,
      summary: "A relay and control plane for remote agents.",
      description: ABOUT,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "This server." }],
    tags: [
      ...areas(routes).map((name) => ({ name, "x-displayName": displayName(name) })),
      { name: "mcp", "x-displayName": "Model Context Protocol" },
    ],
    paths: settled.document.paths,
    components: {
      schemas: { ...OWN_SCHEMAS, ...settled.schemas },
      responses: settled.document.responses,
      parameters: settled.document.parameters,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
    "x-scopes": SCOPES,
    "x-error-codes": FAULTS,
  };
}

function operation(
  route: Route,
  routes: readonly Route[],
  schemas: Schemas,
  responses: Record<string, ApiResponse>,
): Operation {
  const { access } = route;
  const done = { ...success(route, schemas), ...linked(route, routes) };
  return {
    operationId: route.id,
    tags: [areaOf(route)],
    summary: route.summary,
    description: [route.description, rulesOf(route), admission(route)].filter(Boolean).join("\n\n"),
    security: security(access),
    parameters: [
      ...parameters(route.params, "path", schemas),
      ...parameters(route.query, "query", schemas),
      ...(security(access).length > 0 ? [{ $ref: "#/components/parameters/SpaceHeader" }] : []),
      ...(route.idempotencyKey ? [{ $ref: "#/components/parameters/IdempotencyKey" }] : []),
      ...(isFixed(route) ? [{ $ref: "#/components/parameters/IfNoneMatch" }] : []),
    ],
    ...(route.body && bodyOf(route.body, schemas)),
    responses: {
      [route.success.status]: done,
      ...("orLocation" in route.success && route.success.orLocation !== undefined &&
        { 303: redirection(route.success.orLocation, headersOf(route)) }),
      ...route.accepted && { 202: { ...done, description: route.accepted } },
      ...isFixed(route) &&
        { 304: { description: "Not modified; your copy is current.", headers: FIXED } },
      ...faultResponses(faultsOf(route), responses),
    },
    ...(route.rules && { "x-rules": route.rules }),
    "x-effect": route.effect,
    ...("scope" in access && { "x-required-scopes": scopesOf(access) }),
    ...("host" in access && { "x-host-only": true }),
    ...(route.liveOnly && { "x-live-only": true }),
    ...(route.body && { "x-body-bytes-max": bodyBytesMaxOf(route) }),
    ...(route.tool && { "x-mcp-tool": route.tool }),
  };
}

function parameters(
  shape: Route["params"],
  place: "path" | "query",
  schemas: Schemas,
): Parameter[] {
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = schemas.render(shape, "input");
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

/** An empty body is read as `{}`, so a body without required fields is optional. */
function bodyOf(
  body: NonNullable<Route["body"]>,
  schemas: Schemas,
): Pick<Operation, "requestBody"> {
  const schema = schemas.render(body, "input");
  const required = !body.safeParse({}).success;
  return { requestBody: { required, content: { "application/json": { schema } } } };
}

const isFixed = ({ success }: Route): boolean => "content" in success && success.fixed === true;

const FIXED = { ...EVERY_RESPONSE, "ETag": { $ref: "#/components/headers/ETag" } };

const headersOf = (route: Route): NonNullable<ApiResponse["headers"]> => ({
  ...(isFixed(route) ? FIXED : EVERY_RESPONSE),
  ...(route.noStore && { "Cache-Control": { $ref: "#/components/headers/NoStore" } }),
});

function success(route: Route, schemas: Schemas): ApiResponse {
  const { success } = route;
  const headers = headersOf(route);
  if ("location" in success) return redirection(success.location, headers);
  const answer = { description: SUCCESSES[success.status]!, headers };
  if ("content" in success) {
    const content = success.content.map((type) => [type, { schema: textSchema(type) }]);
    return { ...answer, content: Object.fromEntries(content) };
  }
  if (!("body" in success)) return answer;
  const schema = schemas.render(success.body, "output");
  const stream = success.orStream &&
    { [success.orStream]: { schema: textSchema(success.orStream) } };
  return { ...answer, content: { "application/json": { schema }, ...stream } };
}

/** A 303; the text says where to. */
const redirection = (to: string, headers: ApiResponse["headers"]): ApiResponse => ({
  description: to,
  headers: { ...headers, "Location": { description: to, schema: { type: "string" } } },
});

function linked(route: Route, routes: readonly Route[]): Pick<ApiResponse, "links"> {
  const links = linksOf(route, routes);
  return Object.keys(links).length > 0 ? { links } : {};
}

/** Documents and streams in formats of their own have no schema here. */
const textSchema = (type: string): JsonSchema =>
  type.startsWith("text/") && type !== "text/event-stream" ? { type: "string" } : {};

const scopesOf = (access: Access): readonly string[] =>
  "scope" in access ? [access.scope].flat() : [];

/** The alternatives: any scheme with any one of the scopes; `{}` means anonymous. */
function security(access: Access): Operation["security"] {
  if ("public" in access && access.credential === undefined) return [];
  if ("public" in access) return [{}, ...security({ signedIn: true })];
  const needs = "scope" in access ? scopesOf(access).map((scope) => [scope]) : [[]];
  return needs.flatMap((scopes) =>
    Object.keys(SECURITY_SCHEMES).map((scheme) => ({ [scheme]: scopes }))
  );
}

function admission({ access, liveOnly }: Route): string {
  const closed = liveOnly
    ? " Not available in the test space: test keys, and users with `X-Relay-Space: test`, get " +
      "403."
    : "";
  if ("public" in access) {
    const only = access.ownPages ? " Only pages of the relay's own origin may call it." : "";
    return `Public: ${access.public}.${only}${closed}`;
  }
  if ("signedIn" in access && access.orCookie !== undefined) {
    return `Requires a credential, or the cookie \`${access.orCookie}…\`.${closed}`;
  }
  if ("signedIn" in access) return `Requires any active credential.${closed}`;
  const scopes = scopesOf(access).map((scope) => `\`${scope}\``).join(" or ");
  const whose = access.host ? " in the organization that runs the installation" : "";
  return `Requires ${scopes}${whose}.${closed}`;
}

/** The rules beyond the schemas, as a list for people. */
const rulesOf = ({ rules = {} }: Route): string =>
  Object.entries(rules).map(([path, rule]) => `- \`${path}\` ${rule}.`).join("\n");

const areaOf = (route: Route) => route.id.split(".")[0]!;
const areas = (routes: readonly Route[]) => [...new Set(routes.map(areaOf))];

const ABBREVIATIONS = /\b(api|mcp|rbac|sse)\b/gi;

function displayName(area: string): string {
  const words = area.replaceAll("_", " ").replace(ABBREVIATIONS, (word) => word.toUpperCase());
  return words[0]!.toUpperCase() + words.slice(1);
}

const sorted = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1));
