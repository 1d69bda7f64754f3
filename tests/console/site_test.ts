import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { serveConsole } from "../../console/console.ts";
import { makeSite } from "../../console/site.ts";
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
    assets.get(path.slice("/console/assets/".length))!.brotli.length,
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
  const bytes = [...new Set(paths)].map((path) => assets.get(path)!.gzip.length);
  const total = bytes.reduce((sum, n) => sum + n, page.gzip.length);
  console.log(`first screen: ${new Set(paths).size} files, ${total} bytes with gzip`);
  ok(total < FIRST_SCREEN_BYTES_MAX, `${total} bytes`);
});
