import { VERSION } from "../core/protocol/protocol.ts";
import { policyJsonSchema } from "../core/policies/policies.ts";
import { docsPage } from "./pages/docs_page.ts";
import { openapi } from "./openapi/openapi.ts";
import { type Content, type Route, route } from "./call/route.ts";

const JSON_TYPE = "application/json";
const HTML = "text/html; charset=utf-8";
const SCHEMA = "application/schema+json";

/** The contents of these endpoints: the same for everybody, so they are made once in a process. */
interface Documentation {
  readonly json: Content;
  readonly page: Content;
  readonly policy: Content;
}

function make(routes: readonly Route[]): Documentation {
  const document = openapi(routes, VERSION);
  return {
    json: { type: JSON_TYPE, body: JSON.stringify(document) },
    page: docsPage(document),
    policy: { type: SCHEMA, body: JSON.stringify(policyJsonSchema(), null, 2) },
  };
}

/** The description of the interface, for machines and for people. */
export function docsRoutes(all: () => readonly Route[]): readonly Route[] {
  let made: Documentation | undefined;
  const shows = (what: keyof Documentation, type: string) => ({
    method: "GET",
    access: { public: "the response is the same for every installation of this version" },
    effect: "read",
    success: { status: 200, content: [type], fixed: true },
    faults: [],
    handle: () => (made ??= make(all()))[what],
  } as const);
  return [
    route({
      ...shows("json", JSON_TYPE),
      id: "docs.openapi",
      path: "/openapi.json",
      summary: "Get this API as an OpenAPI 3.1 document",
    }),
    route({
      ...shows("page", HTML),
      id: "docs.home",
      path: "/",
      summary: "Get the API documentation (same as /docs)",
    }),
    route({
      ...shows("page", HTML),
      id: "docs.page",
      path: "/docs",
      summary: "Get the API documentation",
      description: "One self-contained page to read and try the API.",
    }),
    route({
      ...shows("policy", SCHEMA),
      id: "docs.policy_schema",
      path: "/schemas/policy.json",
      summary: "Get the JSON Schema of a policy file",
    }),
  ];
}
