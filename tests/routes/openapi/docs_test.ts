import { deepStrictEqual as deq, match, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { OTHER_LIMITS } from "../../../core/access/limits/kinds.ts";
import { content } from "../../../routes/http/answer.ts";
import { docsPage } from "../../../routes/pages/docs_page.ts";
import { exampleOf } from "../../../routes/pages/docs_schema.ts";
import { STYLE } from "../../../routes/pages/docs_style.ts";
import { inline, markup } from "../../../routes/pages/html.ts";
import { openapi } from "../../../routes/openapi/openapi.ts";
import type { OpenApi } from "../../../routes/openapi/types.ts";
import { docsRoutes } from "../../../routes/docs.ts";
import { routes } from "../../../routes/index.ts";

const document = openapi(routes, "1.2.3");
const answer = docsPage(document);
const page = answer.body as string;
const operations = Object.values(document.paths).flatMap((item) => Object.values(item));

Deno.test("docsPage: loads nothing: no address of another server, no file, no handler in markup", () => {
  const outside = page.match(/(?:https?:)?\/\/[a-z0-9-]+\.[a-z]{2,}|@import|url\(|<link|<iframe/gi);
  // Of the bodies of curl commands: names that are kept for examples (RFC 2606).
  deq([...new Set(outside)], ["https://git.example", "https://hooks.example"]);
  deq(page.match(/\s(?:src|srcset|style|on\w+)=/g), null);
  const targets = [...page.matchAll(/\shref="([^"]*)"/g)].map(([, target]) => target!);
  const others = [...new Set(targets.filter((target) => !target.startsWith("#")))];
  deq(others, ["/console", "/guides", "openapi.json"]);
});

Deno.test("docsPage: its content security policy admits exactly its own style and script", () => {
  const policy = answer.headers!["content-security-policy"]!;
  for (const element of ["style", "script"]) {
    const all = [...page.matchAll(new RegExp(`<${element}>([\\s\\S]*?)</${element}>`, "g"))];
    deq(all.length, 1);
    const hash = createHash("sha256").update(all[0]![1]!).digest("base64");
    ok(policy.includes(`${element}-src 'sha256-${hash}'`), element);
  }
  match(policy, /^default-src 'none'; /);
  match(policy, /; connect-src 'self'; /);
});

Deno.test("docsPage: shows every operation once, in the contents and in the text", () => {
  const ids = operations.map(({ operationId }) => operationId).sort();
  const found = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, id]) => id!).sort();
  deq(found(/<article class="operation" id="([^"]+)"/g), ids);
  deq(found(/<li data-for="([^"]+)">/g), ids);
});

Deno.test("docsPage: every internal link has a target, and every id is unique", () => {
  const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!);
  deq(ids.filter((id, at) => ids.indexOf(id) !== at), []);
  const targets = [...page.matchAll(/\s(?:href="#|for="|aria-labelledby=")([^"]+)"/g)];
  deq(targets.map(([, id]) => id!).filter((id) => !ids.includes(id)), []);
});

Deno.test("docsPage: only reads can be tried from the page", () => {
  const forms = page.split('<article class="operation" id="').slice(1);
  deq(forms.length, operations.length);
  for (const form of forms) {
    const id = form.slice(0, form.indexOf('"'));
    const [method, operation] = methodOf(id);
    const tries = method === "get" && operation["x-effect"] === "read";
    deq(form.includes('class="send"'), tries, id);
  }
});

Deno.test("docsPage: text of the document cannot become markup", () => {
  const hostile = `</script><script>alert("x")</script>'&`;
  const one = routes.find(({ id }) => id === "agents.get")!;
  const shown = docsPage(openapi([{ ...one, summary: hostile, description: hostile }], hostile));
  const body = shown.body as string;
  ok(!body.includes("<script>alert"));
  ok(body.includes("&lt;/script&gt;&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;"));
});

Deno.test("docsPage: a schema that contains itself is shown once", () => {
  const Tree = {
    type: "object",
    properties: { kids: { type: "array", items: { $ref: "#/components/schemas/Tree" } } },
    required: ["kids"],
  };
  const components = { ...document.components, schemas: { Tree } };
  const recursive: OpenApi = { ...document, components };
  deq(exampleOf(recursive, { $ref: "#/components/schemas/Tree" }), { kids: [] });
  const get = document.paths["/healthz"]!.get!;
  const schema = { $ref: "#/components/schemas/Tree" };
  const responses = { "200": { description: "x", content: { "application/json": { schema } } } };
  const paths = { "/healthz": { get: { ...get, responses } } };
  const shown = docsPage({ ...recursive, paths }).body as string;
  deq(shown.match(/<code class="name">kids<\/code>/g)?.length, 1);
});

Deno.test("STYLE: text has a contrast of at least 4.5 on every ground, in light and in dark", () => {
  const themes = [...STYLE.matchAll(/:root \{([\s\S]*?)\}/g)].map(([, rules]) =>
    Object.fromEntries(
      [...rules!.matchAll(/--([\w-]+): (#\w{6})/g)].map(([, name, colour]) => [name!, colour!]),
    )
  );
  deq(themes.length, 2);
  const inks = ["text", "soft", "link", "get", "post", "put", "delete", "good", "bad"];
  const grounds = ["bg", "panel", "raised", "code"];
  const pairs = inks.flatMap((ink) => grounds.map((ground) => [ink, ground] as const));
  for (const theme of themes) {
    for (const [ink, ground] of [...pairs, ["terminal-text", "terminal"] as const]) {
      ok(contrast(theme[ink]!, theme[ground]!) >= 4.5, `${ink} on ${ground}`);
    }
  }
});

Deno.test("markup: escapes text and attributes, joins lists, leaves out what is absent", () => {
  const absent = [null, false, undefined] as const;
  const value = markup`<a title="${`"<'&>`}">${["a", markup`<b>${1}</b>`]}${absent}</a>`;
  deq(value.markup, '<a title="&quot;&lt;&#39;&amp;&gt;">a<b>1</b></a>');
  deq(markup`${inline("run `a<b` now")}`.markup, "run <code>a&lt;b</code> now");
});

Deno.test("docsPage: the body of every curl command is one that its endpoint takes", () => {
  const refused = routes.flatMap(({ id, method, path, body }) => {
    const operation = document.paths[path]![method.toLowerCase()]!;
    const schema = operation.requestBody?.content["application/json"]?.schema;
    if (body === undefined || schema === undefined) return [];
    const { error } = body.safeParse(exampleOf(document, schema));
    return error === undefined ? [] : [id];
  });
  // Of two fields it takes one, which its schema cannot say.
  deq(refused, ["shield.evaluate"]);
});

Deno.test("docsRoutes: contents are made once and describe each other", async () => {
  const ask = async (id: string) => {
    const { handle } = docsRoutes(() => routes).find((route) => route.id === id)!;
    return await handle({} as never, {} as never, {} as never) as { type: string; body: string };
  };
  const file = await ask("docs.openapi");
  deq(file.type, "application/json");
  deq(await ask("docs.openapi"), file);
  const paths = Object.keys((JSON.parse(file.body) as OpenApi).paths);
  ok(routes.every(({ path }) => paths.includes(path)));
  const page = await ask("docs.page");
  ok(page.body.startsWith("<!doctype html>"));
  deq(await ask("docs.home"), page);
});

Deno.test("content: adds its headers to those of every response, which override them", () => {
  const limit = {
    admitted: true,
    claim: { key: "a", id: "192.0.2.1", limit: 60, windowMs: 60_000, kind: OTHER_LIMITS.address },
    remaining: 59,
    resetMs: 1000,
  };
  const own = { "content-security-policy": "default-src 'none'", "x-request-id": "mine" };
  const { headers } = content({ requestId: "r1", limit }, { type: "a/b", body: "", headers: own });
  deq(headers.get("content-security-policy"), "default-src 'none'");
  deq(headers.get("content-type"), "a/b");
  deq(headers.get("x-request-id"), "r1");
});

function methodOf(id: string): readonly [string, OpenApi["paths"][string][string]] {
  const all = Object.values(document.paths).flatMap((item) => Object.entries(item));
  return all.find(([, operation]) => operation.operationId === id)!;
}

/** The contrast ratio of two colours, by WCAG 2.2. */
function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
