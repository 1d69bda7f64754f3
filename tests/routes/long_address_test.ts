import { deepStrictEqual as deq, match, ok } from "node:assert/strict";
import { openServer } from "../support/server.ts";

const KIB = 1024;

/** What the server answers to a GET of a path, to the end of the connection. */
async function get(port: number, path: string): Promise<string> {
  using socket = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`;
  const bytes = new TextEncoder().encode(head);
  for (let sent = 0; sent < bytes.length;) sent += await socket.write(bytes.subarray(sent));
  return await new Response(socket.readable).text();
}

Deno.test("long addresses: the runtime answers an empty 400 to over 64 KiB of head, as docs/limits.md says", async () => {
  await using server = await openServer();
  const fitting = await get(server.port, `/healthz?_=${"a".repeat(60 * KIB)}`);
  match(fitting, /^HTTP\/1\.1 200 /);
  const refused = await get(server.port, `/healthz?_=${"a".repeat(64 * KIB)}`);
  match(refused, /^HTTP\/1\.1 400 Bad Request\r\n/);
  const [head, body] = refused.split("\r\n\r\n");
  deq([/x-request-id/i.test(head!), body], [false, ""]);
  match(head!, /^connection: close$/im);
  const page = Deno.readTextFileSync(new URL("../../docs/limits.md", import.meta.url));
  ok(page.includes("more than 64 KiB together") && page.includes("400 with an empty body"));
});
