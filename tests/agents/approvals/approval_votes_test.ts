import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../../support/agent.ts";
import { type Account, World } from "../../support/world.ts";
import { exec, linkAgent, type Linked, runsOf } from "../../support/linked_agent.ts";
import { makeIngestToken } from "../commands/ingest_fixtures.ts";

const RISKY = "systemctl stop nginx";
const BOB = 5_123_456_789;

interface Voting extends Linked {
  /** The person whose key or chat gives the first vote. */
  readonly voter: Account;
  readonly pid: string;
}

/** A command of the owner that waits for this many people. */
async function waiting(world: World, required: number): Promise<Voting> {
  await world.signUp(); // the host, whose admins make no keys
  const here = await linkAgent(world);
  const voter = await world.join(here.owner, ["admin"]);
  const settings = { approvals: { required } };
  const as = here.owner.token;
  await world.call("PATCH", "/api/shield/settings", { as, body: settings });
  const { status, body } = await exec(world, here, RISKY);
  eq(status, 202);
  return { ...here, voter, pid: body.approval_id };
}

const decide = (world: World, how: "approve" | "reject", pid: string, { token: as }: Account) =>
  world.call("POST", `/api/shield/${how}/${pid}`, { as, body: {} });

const approve = async (world: World, { pid }: Voting, as: string) =>
  (await world.call("POST", `/api/shield/approve/${pid}`, { as, body: {} })).body;

/** The ways in which a key ends or loses the right to approve. */
const ENDS: Readonly<Record<string, (world: World, id: string, as: string) => Promise<number>>> = {
  revoked: async (world, id, as) =>
    (await world.call("POST", `/api/v1/api-keys/${id}/revoke`, { as })).status,
  deleted: async (world, id, as) =>
    (await world.call("DELETE", `/api/v1/api-keys/${id}`, { as })).status,
  "without the right": async (world, id, as) => {
    const body = { scopes: ["agents:read"] };
    return (await world.call("PATCH", `/api/v1/api-keys/${id}`, { as, body })).status;
  },
};

for (const [how, end] of Object.entries(ENDS)) {
  Deno.test(`approvals: a vote by a key that is now ${how} does not count, and the key's owner can vote again`, async () => {
    await using world = await World.open();
    const here = await waiting(world, 2);
    const key = await world.key(here.voter, ["approvals:write"]);
    eq((await approve(world, here, key.value)).status, "pending");
    const [second, third] = [
      await world.join(here.owner, ["operator"]),
      await world.join(here.owner, ["operator"]),
    ];
    eq(Math.floor(await end(world, key.id, here.voter.token) / 100), 2);
    eq((await approve(world, here, second.token)).status, "pending");
    eq((await approve(world, here, second.token)).error.code, "CONFLICT");
    const { status, decisions } = await approve(world, here, here.voter.token);
    deq([status, decisions.length], ["approved", 2]);
    eq((await approve(world, here, third.token)).error.code, "CONFLICT");
    await world.settle();
    eq(runsOf(here.agent).length, 1);
  });
}

Deno.test("approvals: a command approved only by a key that was revoked meanwhile is not sent", async () => {
  await using world = await World.open();
  const here = await waiting(world, 1);
  const key = await world.key(here.voter, ["approvals:write"]);
  const { identity } = here.agent;
  here.agent.drop();
  eq((await approve(world, here, key.value)).command_status, "queued");
  eq(await ENDS.revoked!(world, key.id, here.voter.token), 200);
  const again = await ScriptedAgent.connect(world, here.key.value, { identity });
  await world.settle();
  deq(runsOf(again), []);
});

/** What a chat's person or its bot's keeper does when the telephone or the secret is lost. */
const LOSSES: Readonly<Record<string, (link: { id: string; token_id: string }) => string>> = {
  link: ({ id }) => `/api/shield/telegram-links/${id}`,
  bot: ({ token_id }) => `/api/v1/ingest-tokens/${token_id}`,
};

for (const [what, pathOf] of Object.entries(LOSSES)) {
  Deno.test(`approvals: what a chat has approved does not count without its ${what}`, async () => {
    await using world = await World.open();
    const here = await waiting(world, 2);
    const as = here.voter.token;
    const keeper = await world.join(here.owner, ["admin"]);
    const bot = await makeIngestToken(world, keeper, "telegram");
    const tell = (text: string) =>
      world.call("POST", "/api/tg/webhook", {
        body: { chat_id: BOB, message: text },
        headers: { "x-telegram-bot-api-secret-token": bot.token },
      });
    const path = "/api/shield/telegram-links";
    await tell((await world.call("POST", path, { as })).body.message);
    const { body: { text } } = await tell(`/approve ${here.pid}`);
    eq(text, `Recorded. ${here.pid} still needs the approval of another user.`);
    const { body: { telegram_links: [link] } } = await world.call("GET", path, { as });
    eq((await world.call("DELETE", pathOf(link), { as })).status, 204);
    const second = await world.join(here.owner, ["operator"]);
    eq((await approve(world, here, second.token)).status, "pending");
    eq((await approve(world, here, as)).status, "approved");
  });
}

Deno.test("approvals.get: says what the caller may decide, as a decision then answers", async () => {
  await using world = await World.open();
  const here = await waiting(world, 2);
  const viewer = await world.join(here.owner, ["viewer"]);
  const second = await world.join(here.owner, ["operator"]);
  const callerOf = async ({ token: as }: Account) =>
    (await world.call("GET", `/api/shield/approvals/${here.pid}`, { as })).body.caller;
  const may = async (who: Account) => {
    const { may_approve, may_reject, why_not } = await callerOf(who);
    eq(may_approve, why_not === null);
    return [may_approve, may_reject];
  };
  deq(await may(viewer), [false, false]);
  deq(await may(here.owner), [false, true]);
  deq(await may(here.voter), [true, true]);
  eq((await decide(world, "approve", here.pid, here.voter)).status, 200);
  deq(await may(here.voter), [false, true]);
  deq(await may(second), [true, true]);
  const { why_not } = await callerOf(here.owner);
  const refused = await decide(world, "approve", here.pid, here.owner);
  deq([refused.status, refused.body.error.message], [403, why_not]);
  eq((await decide(world, "reject", here.pid, second)).status, 200);
  deq(await may(second), [false, false]);
});

Deno.test("approvals.list: the oldest come first on request", async () => {
  await using world = await World.open();
  const here = await waiting(world, 1);
  world.clock.nowMs += 1;
  const { body } = await exec(world, here, RISKY);
  const pids = async (query: string) =>
    (await world.call("GET", `/api/shield/approvals?status=pending${query}`, {
      as: here.owner.token,
    })).body.approvals.map(({ pid }: { pid: string }) => pid);
  deq(await pids("&order=oldest"), [here.pid, body.approval_id]);
  deq(await pids(""), [body.approval_id, here.pid]);
});
