import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { OutboundError } from "../../../core/ports/ports.ts";
import { rawRows } from "../../support/raw_rows.ts";
import { World } from "../../support/world.ts";
import {
  askedBy,
  beside,
  CALLBACK,
  codeBy,
  decide,
  exchange,
  issue,
  oauth,
  register,
} from "./fixtures.ts";

const MINUTE_MS = 60_000;
const CLIENTS = "/api/account/mcp-clients";

Deno.test("mcp clients: registration takes https, loopback and programs' own schemes, and stores nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await world.settle();
  const before = (await rawRows(world.kv)).length;
  const good = [
    "https://a.example/cb?x=1",
    "http://127.0.0.1/cb",
    "http://localhost:1/",
    "http://[::1]:9/cb",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "com.example.app:/cb",
  ];
  const client_id = await register(world, good);
  const bad = [
    "http://a.example/cb",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://a.example/#x",
    "https://u:p@a.example/",
    "/cb",
    "https://a.example/ü",
    `https://a.example/${"x".repeat(512)}`,
  ];
  for (const uri of bad) {
    const answer = await beside(world, "POST", "/oauth/register", {
      body: { redirect_uris: [uri] },
    });
    deq(oauth(answer), [400, "invalid_redirect_uri"], uri);
  }
  for (const body of [{}, { redirect_uris: [] }, [], { redirect_uris: Array(11).fill(CALLBACK) }]) {
    eq((await beside(world, "POST", "/oauth/register", { body })).status, 400);
  }
  const long = Array.from({ length: 10 }, (_, n) => `https://a.example/${n}${"x".repeat(400)}`);
  const tooLong = await beside(world, "POST", "/oauth/register", { body: { redirect_uris: long } });
  deq(oauth(tooLong), [400, "invalid_client_metadata"]);
  await world.settle();
  eq((await rawRows(world.kv)).length, before);
  const ports = ["http://127.0.0.1:49152/cb", "http://localhost:2/", "http://[::1]/cb"];
  for (const redirect_uri of [...good, ...ports]) {
    eq((await decide(world, owner.token, askedBy(client_id, { redirect_uri }))).status, 200);
  }
  const others = [
    "http://127.0.0.1:49152/other",
    "http://127.0.0.2/cb",
    "https://a.example:8443/cb?x=1",
  ];
  for (const redirect_uri of others) {
    eq((await decide(world, owner.token, askedBy(client_id, { redirect_uri }))).status, 400);
  }
});

Deno.test("mcp clients: an id that is an address leads to its metadata document, fetched seldom", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const id = "https://client.example/metadata.json";
  let document: unknown = { client_id: id, client_name: "Documented", redirect_uris: [CALLBACK] };
  world.network.reply = () => ({ status: 200, body: JSON.stringify(document) });
  const request = (client_id = id) =>
    world.call("POST", `${CLIENTS}/request`, { as: owner.token, body: askedBy(client_id) });
  const { body } = await request();
  deq([body.name, body.client_host], ["Documented", "client.example"]);
  eq((await connectedBy(world, owner.token, id)).status, 200);
  const fetched = world.network.sent.filter(({ url }) => url === id);
  ok(fetched.length <= world.apps.length, "each instance fetches it once");
  deq(new Set(fetched.map(({ organization }) => organization)), new Set([owner.org]));
  world.clock.nowMs += 10 * MINUTE_MS;
  for (const wrong of [{ ...document as object, client_id: `${id}2` }, { client_id: id }, "x"]) {
    document = wrong;
    deq(issue(await request()), [400, "body.client_id"]);
  }
  world.network.reply = () => ({ status: 302, headers: { location: "https://x.example/" } });
  deq(issue(await request()), [400, "body.client_id"]);
  world.network.reply = () => new OutboundError("dns", "no such host");
  eq((await request()).status, 503);
  const sent = world.network.sent.length;
  const never = [
    "https://client.example/",
    "https://u@client.example/a",
    "https://client.example/a#b",
    "https://client.example/a/../b",
    "http://client.example/a",
  ];
  for (const address of never) {
    deq(issue(await request(address)), [400, "body.client_id"], address);
  }
  eq(world.network.sent.length, sent);
});

const connectedBy = async (world: World, as: string, client_id: string) => {
  const asked = askedBy(client_id);
  return await exchange(world, asked, await codeBy(world, as, asked));
};
