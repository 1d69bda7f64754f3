import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { openapi } from "../../routes/openapi/openapi.ts";
import { routes } from "../../routes/index.ts";
import { World } from "../support/world.ts";

const fixed = routes.filter(({ success }) => "content" in success && success.fixed);

Deno.test("etag: fixed contents answer 304 to a client that has them", async () => {
  await using world = await World.open();
  deq(fixed.map(({ path }) => path), [
    "/device",
    "/openapi.json",
    "/",
    "/docs",
    "/schemas/policy.json",
  ]);
  for (const { path, success } of fixed) {
    const first = await world.call("GET", path);
    const etag = first.headers.get("etag")!;
    match(etag, /^"[0-9a-f]{64}"$/, path);
    eq(first.headers.get("cache-control"), "no-cache");
    for (const had of [etag, `W/${etag}`, `"older", ${etag}`, "*"]) {
      for (const method of ["GET", "HEAD"]) {
        const answer = await world.raw(method, path, { headers: { "if-none-match": had } });
        deq([answer.status, await answer.text()], [304, ""], `${method} ${path} for ${had}`);
        for (const name of ["etag", "cache-control", "content-security-policy"]) {
          eq(answer.headers.get(name), first.headers.get(name), `${path} ${name}`);
        }
        eq(answer.headers.has("x-ratelimit-limit"), true);
      }
    }
    const other = await world.call("GET", path, { headers: { "if-none-match": '"older"' } });
    deq([other.status, other.text], [success.status, first.text], path);
  }
});

Deno.test("etag: fixed contents are sent in the best coding that the client accepts", async () => {
  await using world = await World.open();
  for (const { path } of fixed) {
    const plain = await world.call("GET", path);
    const etags = new Set([plain.headers.get("etag")]);
    for (
      const [accepted, coding] of [
        ["gzip, br", "br"],
        ["gzip;q=1.0, br;q=0", "gzip"],
        ["identity", null],
        ["gzip;q=0", null],
      ] as const
    ) {
      const headers = { "accept-encoding": accepted };
      const got = await world.raw("GET", path, { headers });
      const bytes = new Uint8Array(await got.arrayBuffer());
      deq([got.status, got.headers.get("content-encoding")], [200, coding], `${path} ${accepted}`);
      eq(got.headers.get("vary"), "accept-encoding");
      const text = coding === "br"
        ? brotliDecompressSync(bytes)
        : coding === "gzip"
        ? gunzipSync(bytes)
        : bytes;
      eq(new TextDecoder().decode(text), plain.text, `${path} ${accepted}`);
      const head = await world.raw("HEAD", path, { headers });
      await head.body?.cancel();
      for (const name of ["content-encoding", "content-type", "etag", "vary"]) {
        eq(head.headers.get(name), got.headers.get(name), `HEAD ${path} ${name}`);
      }
      etags.add(got.headers.get("etag"));
    }
    eq(etags.size, 3, `${path}: each coding has its own ETag`);
  }
});

Deno.test("etag: the OpenAPI document names the responses with an ETag", () => {
  const { paths } = openapi(routes, "1.2.3");
  const told = Object.entries(paths).flatMap(([path, { get }]) =>
    get?.responses["304"] === undefined ? [] : [path]
  );
  deq(told, fixed.map(({ path }) => path));
});
