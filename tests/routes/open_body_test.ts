import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";
import {
  alertsOf,
  makeIngestToken,
  NOTIFICATION,
  storedKeys,
} from "../agents/commands/ingest_fixtures.ts";
import { longestParsed } from "../support/longest_parsed.ts";
import { OWN_PAGE, World } from "../support/world.ts";

const OPEN_BYTES = 16 * 1024;
const AM = "/api/webhooks/alertmanager";
const GIT = "/api/v1/gitops/webhook";
const FORGED = { "x-github-event": "push", "x-hub-signature-256": `sha256=${"0".repeat(64)}` };
const JSON_TYPE = { "content-type": "application/json" };

/** A JSON object of exactly so many bytes. */
const bodyOf = (bytes: number) => `{"x":"${"x".repeat(bytes - 8)}"}`;

/** A body that comes in pieces, and how much of it was taken. */
function inPieces(text: string, pieceBytes = 4096) {
  const bytes = new TextEncoder().encode(text);
  let taken = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(stream) {
      if (taken >= bytes.length) return stream.close();
      stream.enqueue(bytes.slice(taken, taken += pieceBytes));
    },
  }, { highWaterMark: 0 });
  return { body, taken: () => Math.min(taken, bytes.length) };
}

const send = (world: World, path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  world.send(
    new Request(`http://localhost${path}`, {
      method: "POST",
      headers: { ...JSON_TYPE, ...OWN_PAGE, ...headers },
      body,
    }),
  );

Deno.test("bodies: anonymous callers may send 16 KiB, and no more is read or parsed", async () => {
  await using world = await World.open();
  const open = routes.filter(({ access, body }) => "public" in access && body !== undefined);
  const paths = [...open.map(({ path }) => path), "/mcp", "/mcp/stream"];
  ok(paths.length >= 10);
  const before = await storedKeys(world);
  const longest = await longestParsed(async () => {
    for (const path of paths) {
      const most = await send(world, path, bodyOf(OPEN_BYTES));
      ok(most.status !== 413, `${path} answered ${most.status} to 16 KiB`);
      const said = { "content-length": `${OPEN_BYTES + 1}` };
      const { body: unread, taken: none } = inPieces(bodyOf(OPEN_BYTES + 1));
      eq((await send(world, path, unread, said)).status, 413, path);
      eq(none(), 0, `${path} read a body that said it was too large`);
      const { body, taken } = inPieces(bodyOf(2 * 1024 * 1024));
      eq((await send(world, path, body)).status, 413, path);
      ok(taken() <= OPEN_BYTES + 4096, `${path} read ${taken()} bytes`);
    }
  });
  ok(longest <= OPEN_BYTES, `${longest} characters were parsed`);
  deq(await storedKeys(world), before);
});

Deno.test("bodies: a larger body for a receiver needs its ingest token, which is checked first", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { token } = await makeIngestToken(world, owner, "alertmanager");
  const { token: other } = await makeIngestToken(world, owner, "generic");
  const text = JSON.stringify({ ...NOTIFICATION, padding: "x".repeat(200_000) });
  for (const shown of [{}, { "x-ingest-token": `${token}x` }, { "x-ingest-token": other }]) {
    const { body, taken } = inPieces(text);
    const said = { "content-length": `${text.length}`, ...shown };
    const answer = await send(world, AM, body, said as Record<string, string>);
    const { error } = await answer.json();
    deq([answer.status, error.details.limit_bytes, taken()], [413, OPEN_BYTES, 0]);
    ok(error.message.includes("ingest token"), error.message);
  }
  deq(await alertsOf(world, owner), []);
  eq((await send(world, AM, text, { "x-ingest-token": token })).status, 202);
  eq((await alertsOf(world, owner)).length, 1);
  eq((await send(world, `${AM}?token=${token}`, text)).status, 202);
});

Deno.test("bodies: the largest body passes in an unused window, however low the limit of an address", async () => {
  await using world = await World.open({ config: { limits: { public_per_minute: 5 } } });
  const owner = await world.signUp();
  const { token } = await makeIngestToken(world, owner, "alertmanager");
  await world.advance(60_000);
  const text = JSON.stringify({ ...NOTIFICATION, padding: "x".repeat(500_000) });
  eq((await send(world, AM, text, { "x-ingest-token": token })).status, 202);
  const refused = await send(world, AM, "{}", { "x-ingest-token": token });
  eq(refused.status, 429);
  const { error: { details } } = JSON.parse(await refused.text());
  deq([details.of.type, details.raise.who], ["address", "operator"]);
});

Deno.test("bodies: an address pays one request for each 16 KiB, whatever the declared length", async () => {
  const limits = { limits: { public_per_minute: 20 } };
  const size = 100_000; // seven pieces
  for (const chunked of [true, false]) {
    await using world = await World.open({ config: limits });
    const forge = (from: string) => {
      const text = bodyOf(size);
      const { body, taken } = inPieces(text);
      const headers: Record<string, string> = { ...JSON_TYPE, ...FORGED };
      if (!chunked) headers["content-length"] = `${size}`;
      const request = new Request(`http://localhost${GIT}`, { method: "POST", headers, body });
      return { answer: world.send(request, from), taken };
    };
    for (const left of ["13", "6"]) {
      const answer = await forge("198.51.100.7").answer;
      deq([answer.status, answer.headers.get("x-ratelimit-remaining")], [413, left]);
    }
    const third = forge("198.51.100.7");
    const refused = await third.answer;
    deq([refused.status, (await refused.json()).error.details.scope], [429, "address"]);
    ok(third.taken() <= (chunked ? size : 0), `${third.taken()} bytes were read`);
    eq((await forge("198.51.100.8").answer).status, 413, "another address pays for itself");
  }
});

Deno.test("bodies: other requests are served while a large body is parsed", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const alerts = Array.from({ length: 9_000 }, (_, n) => ({ name: `alert ${n}`, state: "none" }));
  const done: string[] = [];
  const large = world.raw("POST", "/api/shield/ingest", { as, body: { source: "s", alerts } })
    .then(() => done.push("large"));
  for (let n = 0; n < 5; n++) {
    eq((await world.raw("GET", "/healthz")).status, 200);
    done.push("healthz");
  }
  await large;
  deq(done.at(-1), "large");
});
