import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { haveInCommon, unite } from "../../core/access/keys/also_of.ts";
import { type Account, World } from "../support/world.ts";
import { exec, linkAgent, type Linked, runsOf } from "./fixtures.ts";
import { makeIngestToken } from "./ingest_fixtures.ts";
import { KEYS, rotate } from "./key_fixtures.ts";

const RISKY = "systemctl stop nginx";
const ACCOUNT = 5_123_456_789;

interface Here extends Linked {
  /** Whoever asks for a command and tries to approve it. */
  readonly admin: Account;
  readonly colleague: Account;
}

async function setUp(world: World, required = 1): Promise<Here> {
  await world.signUp(); // the host, whose administrators change no keys
  const here = await linkAgent(world);
  const admin = await world.join(here.owner, ["admin"]);
  const colleague = await world.join(here.owner, ["admin"]);
  const body = { approvals: { required } };
  await world.call("PATCH", "/api/shield/settings", { as: here.owner.token, body });
  return { ...here, admin, colleague };
}

/** A command that waits; its process id. */
async function waiting(world: World, here: Linked, as: string): Promise<string> {
  const { status, body } = await exec(world, here, RISKY, { as });
  eq(status, 202);
  return body.approval_id;
}

const approve = (world: World, pid: string, as: string) =>
  world.call("POST", `/api/shield/approve/${pid}`, { as, body: {} });

/** That an approval was refused and wrote nothing. */
async function refused(world: World, here: Here, pid: string, as: string): Promise<void> {
  const { status, body } = await approve(world, pid, as);
  deq([status, body.error.code], [403, "FORBIDDEN"]);
  const path = `/api/shield/approvals/${pid}`;
  const { body: stored } = await world.call("GET", path, { as: here.owner.token });
  await world.settle();
  deq([stored.status, stored.decisions, runsOf(here.agent)], ["pending", [], []]);
}

const change = (world: World, id: string, as: string, scopes: readonly string[]) =>
  world.call("PATCH", `${KEYS}/${id}`, { as, body: { scopes } });

const says = (world: World, secret: string, message: string) =>
  world.call("POST", "/api/tg/webhook", {
    body: { chat_id: ACCOUNT, message },
    headers: { "x-telegram-bot-api-secret-token": secret },
  });

/** Links a person's chat through a bot. */
async function link(world: World, who: Account, secret: string): Promise<void> {
  const path = "/api/shield/telegram-links";
  const { body } = await world.call("POST", path, { as: who.token });
  await says(world, secret, body.message);
}

Deno.test("updateApiKey: an administrator gives an owner's key no scope", async () => {
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

Deno.test("approvals: whoever widened a key approves no request of their own with it", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const key = await world.key(here.colleague, ["agents:read"]);
  eq((await change(world, key.id, here.admin.token, ["approvals:write"])).status, 200);
  await refused(world, here, await waiting(world, here, here.admin.token), key.value);
  const pid = await waiting(world, here, here.owner.token);
  const { body } = await approve(world, pid, key.value);
  deq([body.status, body.decisions[0].also_of], ["approved", [here.admin.userId]]);
});

Deno.test("approvals: whoever rotated a colleague's key approves no request of their own with either value", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const key = await world.key(here.colleague, ["approvals:write"]);
  const { body: rotated } = await rotate(world, key.id, here.admin.token);
  const pid = await waiting(world, here, here.admin.token);
  for (const value of [rotated.old_key, rotated.new_key]) await refused(world, here, pid, value);
  eq((await approve(world, pid, here.colleague.token)).body.status, "approved");
});

Deno.test("approvals: a key that its owner rotates again is theirs alone", async () => {
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

Deno.test("approvals: what a key makes, rotates or widens is also of who may hold that key", async () => {
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
  eq(text.startsWith("Whoever asked for this may hold"), true, text);
});

Deno.test("approvals: what is asked with a key is also asked by who was given its value", async () => {
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

Deno.test("telegram: whoever made a bot approves no request of their own through it", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const bot = await makeIngestToken(world, here.admin, "telegram");
  await link(world, here.colleague, bot.token);
  const pid = await waiting(world, here, here.admin.token);
  const { body: { text } } = await says(world, bot.token, `/approve ${pid}`);
  eq(text.startsWith("Whoever asked for this may hold"), true, text);
  await refused(world, here, pid, here.admin.token);
  const other = await waiting(world, here, here.owner.token);
  eq((await says(world, bot.token, `/approve ${other}`)).body.text, `${other} is approved.`);
});

Deno.test("telegram: whoever reads a code at their own bot links nobody's account elsewhere", async () => {
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
  eq(text.startsWith("Whoever asked for this may hold"), true, text);
});

Deno.test("approvals: nobody gives two of them through another's key", async () => {
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

Deno.test("unite: more people than are remembered are everybody", () => {
  const many = Array.from({ length: 17 }, (_, n) => `usr_${n}`);
  deq(unite(many.slice(0, 16)), many.slice(0, 16));
  deq(unite(many, ["usr_x"]), ["*"]);
  eq(haveInCommon(unite(many), ["usr_y"]), true);
});
