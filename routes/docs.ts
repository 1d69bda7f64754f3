import { VERSION } from "../core/app.ts";
import { docsPage } from "./_docs_page.ts";
import { openapi } from "./_openapi.ts";
import type { OpenApi } from "./_openapi_types.ts";
import { type Content, type Route, route } from "./_route.ts";

/** What these endpoints answer: the same for everybody, so it is made once in a process. */
interface Documentation {
  readonly json: Content;
  readonly page: Content;
}

let made: Promise<Documentation> | undefined;

const documentation = () => made ??= make();

async function make(): Promise<Documentation> {
  // Imported when first asked for, because the table of contents imports this file.
  const { routes } = await import("./index.ts");
  const document: OpenApi = openapi(routes, VERSION);
  return {
    json: { type: "application/json", body: JSON.stringify(document) },
    page: docsPage(document),
  };
}

/** The description of the interface, for machines and for people. */
export const docsRoutes: readonly Route[] = [
  route({
    id: "docs.openapi",
    method: "GET",
    path: "/openapi.json",
    summary: "This interface as an OpenAPI 3.1 document",
    access: { public: "it is the same for every installation of this version" },
    effect: "read",
    success: { status: 200, content: ["application/json"] },
    faults: [],
    handle: async () => (await documentation()).json,
  }),
  route({
    id: "docs.home",
    method: "GET",
    path: "/",
    summary: "The same page as /docs, where a browser begins",
    access: { public: "it is the same for every installation of this version" },
    effect: "read",
    success: { status: 200, content: ["text/html; charset=utf-8"] },
    faults: [],
    handle: async () => (await documentation()).page,
  }),
  route({
    id: "docs.page",
    method: "GET",
    path: "/docs",
    summary: "This interface as a page to read and try",
    description: "One file that loads nothing from elsewhere.",
    access: { public: "it is the same for every installation of this version" },
    effect: "read",
    success: { status: 200, content: ["text/html; charset=utf-8"] },
    faults: [],
    handle: async () => (await documentation()).page,
  }),
];
