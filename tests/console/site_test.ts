import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { serveConsole } from "../../console/console.ts";
import { FILES } from "../../console/files.ts";
import { makeSite } from "../../console/site.ts";
import { STYLE as REFERENCE_STYLE } from "../../routes/pages/docs_style.ts";
import { STYLE as REPORT_STYLE } from "../../routes/pages/report_style.ts";
import { consoleFiles } from "./console_files.ts";

const FIRST_SCREEN_BYTES_MAX = 60 * 1024;
const serve = serveConsole();
const get = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
  await serve(new Request(`http://relay.test${path}`, { method, headers }));

Deno.test("console: console/files.ts names every file; `deno task docs` writes it", async () => {
  const words = (text: string) => text.replaceAll(/\s+/g, "");
  eq(words(await Deno.readTextFile("console/files.ts")), words(await consoleFiles()));
});

Deno.test("console: every address of the console is the same page, under a strict policy", async () => {
  for (const path of ["/console", "/console/approvals/pid_1?from=chat", "/console/no/such"]) {
    const response = (await get(path))!;
    deq([response.status, response.headers.get("cache-control")], [200, "no-cache"]);
    const policy = response.headers.get("content-security-policy")!;
    match(policy, /default-src 'none'.*frame-ancestors 'none'/);
    ok(!policy.includes("unsafe"), policy);
    match(await response.text(), /<script type="module" src="\/console\/assets\//);
  }
});

Deno.test("console: only the page where MCP clients send people keeps the window of the page that opened it", async () => {
  const openerOf = async (path: string) =>
    (await get(path))!.headers.get("cross-origin-opener-policy");
  eq(await openerOf("/console/authorize?client_id=mcp_x"), "unsafe-none");
  for (const path of ["/console", "/console/authorize/x", "/console/sign-in?next=/authorize"]) {
    eq(await openerOf(path), "same-origin", path);
  }
});

Deno.test("console: assets have a digest in their address, are kept for ever, and are compressed", async () => {
  const { version, assets } = makeSite();
  const path = `/console/assets/${version}/console/app/main.ts`;
  const response = (await get(path, { "accept-encoding": "gzip, deflate, br" }))!;
  deq(
    ["content-type", "content-encoding", "cache-control"].map((name) => response.headers.get(name)),
    ["text/javascript; charset=utf-8", "br", "public, max-age=31536000, immutable"],
  );
  eq(
    (await response.bytes()).length,
    assets.get(path.slice("/console/assets/".length))!.brotli!.length,
  );
  eq((await get(path, { "if-none-match": response.headers.get("etag")! }))!.status, 304);
  eq((await get(path, { "if-none-match": `W/${response.headers.get("etag")}` }))!.status, 304);
  eq((await get("/console/assets/0000/console/app/main.ts"))!.status, 404);
  eq((await get(path, {}, "POST"))!.status, 405);
});

Deno.test("console: a browser that opens / is sent to the console, and a program gets the reference", async () => {
  const sent = (await get("/", { "sec-fetch-dest": "document" }))!;
  deq([sent.status, sent.headers.get("location")], [302, "/console"]);
  eq(await get("/"), null);
  eq(await get("/consoles"), null);
});

Deno.test("console: a runtime that cannot load the files says so, and is asked again", async () => {
  let loads = 0;
  const broken = serveConsole(() => {
    loads++;
    return Promise.reject(new Error("text imports are not supported"));
  });
  for (const _ of [1, 2]) {
    const response = (await broken(new Request("http://relay.test/console")))!;
    eq(response.status, 503);
    match(await response.text(), /text imports are not supported[\s\S]*The API works/);
  }
  eq(loads, 2);
});

Deno.test("console: the first screen is under 60 KB compressed", () => {
  const { assets, page } = makeSite();
  const text = new TextDecoder().decode(page.plain);
  const paths = [...text.matchAll(/(?:href|src)="\/console\/assets\/([^"]+)"/g)].map(([, path]) =>
    path!
  );
  const bytes = [...new Set(paths)].map((path) => assets.get(path)!.gzip!.length);
  const total = bytes.reduce((sum, n) => sum + n, page.gzip!.length);
  console.log(`first screen: ${new Set(paths).size} files, ${total} bytes with gzip`);
  ok(total < FIRST_SCREEN_BYTES_MAX, `${total} bytes`);
});

const SHEET = (await Deno.readTextFile("console/app/style.css")).replaceAll(/\/\*.*?\*\//gs, "");
const SOURCES = [await Deno.readTextFile("console/site.ts"), ...Object.values(FILES)].join("\n");
/** Words of class attributes, of computed ones those that stand in the expression itself. */
const NAMED = new Set(
  [...SOURCES.matchAll(/\sclass=(?:"([^"$]*)"|\$\{((?:[^{}`]|`[^`]*`)*)\})/g)].flatMap((
    [, words, expression = ""],
  ) =>
    words?.split(/\s+/) ??
      [...expression.replaceAll(/[!=]== "[^"]*"/g, "").matchAll(/["`]([^"`]*)["`]/g)].flatMap((
        [, text],
      ) => text!.replaceAll(/\$\{[^}]*\}/g, " ").split(/\s+/))
  ).filter(Boolean),
);
const RULED = new Set(
  [...SHEET.matchAll(/([^{};]+)\{/g)].flatMap(([, selectors]) =>
    [...selectors!.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name!)
  ),
);

Deno.test("style.css: every class of a screen has a rule, and every class of a rule a user", () => {
  ok(RULED.size > 80 && NAMED.size > 80);
  deq([...NAMED].filter((name) => !RULED.has(name)), []);
  // A computed class, such as the tone of a badge, stands as a word of its own somewhere in the code.
  deq([...RULED].filter((name) => !NAMED.has(name) && !SOURCES.includes(`"${name}"`)), []);
});

Deno.test("style.css: the reference and the reports have the colours of the console", () => {
  const ours = new Map(
    [...SHEET.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)]
      .map(([, name, light, dark]) => [name!, [light!, dark!]]),
  );
  for (const style of [REFERENCE_STYLE, REPORT_STYLE]) {
    const [light, dark] = [...style.matchAll(/:root \{([\s\S]*?)\}/g)].map(([, rules]) =>
      new Map([...rules!.matchAll(/--([\w-]+): (#\w{6})/g)].map(([, name, it]) => [name!, it!]))
    );
    const shared = [...light!.keys()].filter((name) => ours.has(name));
    ok(shared.length > 5);
    for (const name of shared) {
      deq([name, light!.get(name), dark!.get(name)], [name, ...ours.get(name)!]);
    }
  }
});
