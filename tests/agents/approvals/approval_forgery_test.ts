import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { haveInCommon, unite } from "../../../core/access/keys/people_behind.ts";
import { World } from "../../support/world.ts";
import { approve, link, refused, says, setUp, waiting } from "./approval_fixtures.ts";
import { makeIngestToken } from "../commands/ingest_fixtures.ts";
import { HOUR_MS, KEYS, rotate } from "../../access/keys/key_fixtures.ts";

const change = (world: World, id: string, as: string, scopes: readonly string[]) =>
  world.call("PATCH", `${KEYS}/${id}`, { as, body: { scopes } });

Deno.test("updateApiKey: an administrator cannot add scopes to an owner's key", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const scopes = ["agents:read", "audit:read"];
  const key = await world.key(here.owner, scopes);
  const { status, body } = await change(world, key.id, here.admin.token, ["approvals:write"]);
  deq([status, body.error.code], [403, "FORBIDDEN"]);
  const path = `${KEYS}/${key.id}`;
  const { body: stored } = await world.call("GET", path, { as: here.owner.token });
  deq(stored.scopes, scopes);
  eq((await change(world, key.id, here.admin.token, ["agents:read"])).status, 200);
});

Deno.test("approvals: nobody approves their own request by a key that they widened", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const key = await world.key(here.colleague, ["agents:read"]);
  eq((await change(world, key.id, here.admin.token, ["approvals:write"])).status, 200);
  await refused(world, here, await waiting(world, here, here.admin.token), key.value);
  const pid = await waiting(world, here, here.owner.token);
  const { body } = await approve(world, pid, key.value);
  deq([body.status, body.decisions[0].also_of], ["approved", [here.admin.userId]]);
});

Deno.test("approvals: nobody approves their own request by a key whose life they made longer, but they may make it shorter", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const keyEndingAfter = async (days: number) => {
    const key = await world.key(here.colleague, ["approvals:write"], { expires_days: 10 });
    const expires_at = new Date(world.clock.nowMs + days * 24 * HOUR_MS).toISOString();
    const as = here.admin.token;
    eq((await world.call("PATCH", `${KEYS}/${key.id}`, { as, body: { expires_at } })).status, 200);
    return key.value;
  };
  const pid = await waiting(world, here, here.admin.token);
  await refused(world, here, pid, await keyEndingAfter(11));
  const { body } = await approve(world, pid, await keyEndingAfter(9));
  deq([body.status, body.decisions[0].also_of], ["approved", []]);
});

Deno.test("approvals: nobody approves their own request by either value of a colleague's key that they rotated", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const key = await world.key(here.colleague, ["approvals:write"]);
  const { body: rotated } = await rotate(world, key.id, here.admin.token);
  const pid = await waiting(world, here, here.admin.token);
  for (const value of [rotated.old_key, rotated.new_key]) await refused(world, here, pid, value);
  eq((await approve(world, pid, here.colleague.token)).body.status, "approved");
});

Deno.test("approvals: a key belongs to its owner alone after the owner rotates it again", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const key = await world.key(here.colleague, ["approvals:write"]);
  await rotate(world, key.id, here.admin.token, 0);
  const { body: rotated } = await rotate(world, key.id, here.colleague.token);
  const pid = await waiting(world, here, here.admin.token);
  await refused(world, here, pid, rotated.old_key);
  const { body } = await approve(world, pid, rotated.new_key);
  deq([body.status, body.decisions[0].also_of], ["approved", []]);
});

Deno.test("approvals: keys that a key makes, rotates or widens count as held by its holders too", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const scopes = ["approvals:write", "system:write", "agents:read"];
  const first = await world.key(here.colleague, scopes);
  const { body: { new_key } } = await rotate(world, first.id, here.admin.token, 0);
  const as = new_key as string;
  const made = await world.key({ ...here.colleague, token: as }, ["approvals:write"]);
  const own = await world.key(here.colleague, ["approvals:write"]);
  const { body: rotated } = await rotate(world, own.id, as, 0);
  const narrow = await world.key(here.colleague, ["agents:read"]);
  eq((await change(world, narrow.id, as, ["approvals:write"])).status, 200);
  const bot = await makeIngestToken(world, { ...here.colleague, token: as }, "telegram");
  await link(world, here.owner, bot.token);
  const pid = await waiting(world, here, here.admin.token);
  for (const value of [made.value, rotated.new_key, narrow.value]) {
    await refused(world, here, pid, value);
  }
  const { body: { text } } = await says(world, bot.token, `/approve ${pid}`);
  eq(text.startsWith("The requester may hold"), true, text);
});

Deno.test("approvals: a request by a key counts as asked by everybody who was given its value", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const key = await world.key(here.colleague, ["agents:write"]);
  const { body: { new_key } } = await rotate(world, key.id, here.admin.token, 0);
  const pid = await waiting(world, here, new_key);
  await refused(world, here, pid, here.admin.token);
  await refused(world, here, pid, here.colleague.token);
  const { body } = await approve(world, pid, here.owner.token);
  deq([body.status, body.requested_also], ["approved", [here.admin.userId]]);
});

Deno.test("telegram: nobody approves their own request through a bot that they made", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const bot = await makeIngestToken(world, here.admin, "telegram");
  await link(world, here.colleague, bot.token);
  const pid = await waiting(world, here, here.admin.token);
  const { body: { text } } = await says(world, bot.token, `/approve ${pid}`);
  eq(text.startsWith("The requester may hold"), true, text);
  await refused(world, here, pid, here.admin.token);
  const other = await waiting(world, here, here.owner.token);
  eq((await says(world, bot.token, `/approve ${other}`)).body.text, `${other} is approved.`);
});

Deno.test("telegram: a bot's maker who reads a code cannot link an account with it elsewhere", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const bot = await makeIngestToken(world, here.admin, "telegram");
  const other = await makeIngestToken(world, here.owner, "telegram");
  const path = "/api/shield/telegram-links";
  const { body: { message } } = await world.call("POST", path, { as: here.colleague.token });
  const ended = await world.call("DELETE", `/api/v1/ingest-tokens/${bot.id}`, {
    as: here.admin.token,
  });
  eq(ended.status, 204);
  await says(world, other.token, message);
  const pid = await waiting(world, here, here.admin.token);
  const { body: { text } } = await says(world, other.token, `/approve ${pid}`);
  eq(text.startsWith("The requester may hold"), true, text);
});

Deno.test("telegram: the maker of a deleted bot who read a code cannot link an account with it elsewhere", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const other = await makeIngestToken(world, here.owner, "telegram");
  const path = "/api/shield/telegram-links";
  const { body: { message } } = await world.call("POST", path, { as: here.colleague.token });
  const bot = await makeIngestToken(world, here.admin, "telegram");
  await world.call("DELETE", `/api/v1/ingest-tokens/${bot.id}`, { as: here.admin.token });
  world.clock.nowMs += 9 * 60_000;
  await says(world, other.token, message);
  const pid = await waiting(world, here, here.admin.token);
  const { body: { text } } = await says(world, other.token, `/approve ${pid}`);
  eq(text.startsWith("The requester may hold"), true, text);
});

Deno.test("telegram: a bot deleted before a code was made does not count as its reader", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const bot = await makeIngestToken(world, here.admin, "telegram");
  await world.call("DELETE", `/api/v1/ingest-tokens/${bot.id}`, { as: here.admin.token });
  world.clock.nowMs += 1;
  const other = await makeIngestToken(world, here.owner, "telegram");
  await link(world, here.colleague, other.token);
  const pid = await waiting(world, here, here.admin.token);
  eq((await says(world, other.token, `/approve ${pid}`)).body.text, `${pid} is approved.`);
});

Deno.test("approvals: nobody approves twice through another person's key", async () => {
  await using world = await World.open();
  const here = await setUp(world, 2);
  const key = await world.key(here.colleague, ["approvals:write"]);
  const { body: { new_key } } = await rotate(world, key.id, here.admin.token, 0);
  const pid = await waiting(world, here, here.owner.token);
  eq((await approve(world, pid, here.admin.token)).body.status, "pending");
  eq((await approve(world, pid, new_key)).body.error.code, "CONFLICT");
  eq((await approve(world, pid, here.colleague.token)).body.status, "approved");
  const second = await waiting(world, here, here.owner.token);
  eq((await approve(world, second, new_key)).body.status, "pending");
  eq((await approve(world, second, here.admin.token)).body.status, "pending");
  eq((await approve(world, second, here.colleague.token)).body.status, "approved");
});

Deno.test("unite: more people than can be stored count as everybody", () => {
  const many = Array.from({ length: 17 }, (_, n) => `usr_${n}`);
  deq(unite(many.slice(0, 16)), many.slice(0, 16));
  deq(unite(many, ["usr_x"]), ["*"]);
  eq(haveInCommon(unite(many), ["usr_y"]), true);
});
