import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { accessNow } from "../../core/host/compliance/access_review.ts";
import { ACTORS_MAX } from "../../core/host/compliance/count.ts";
import { QUERIES, queriesMatching } from "../../core/host/compliance/queries.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { found, HOUR_MS, make, rowsOf } from "./compliance_fixtures.ts";
import { AGENT_RIGHTS, exec, linkAgent, type Linked } from "../support/linked_agent.ts";
import { liveOf } from "../delivery/webhooks/hook_fixtures.ts";
import { makeIngestToken } from "../agents/commands/ingest_fixtures.ts";

const RISKY = "systemctl stop nginx";
const CHAT = 5_123_456_789;
const LINKS = "/api/shield/telegram-links";
const UNUSED = "has no row in the log for the period";

/** A command of the owner that two people must approve; the owner may be one of them. */
async function waiting(world: World, { owner, ...here }: Linked): Promise<string> {
  const approvals = { required: 2, self_approval: true };
  await world.call("PATCH", "/api/shield/settings", { as: owner.token, body: { approvals } });
  return (await exec(world, { owner, ...here }, RISKY)).body.approval_id;
}

const approve = async (world: World, pid: string, { token: as }: Account) =>
  (await world.call("POST", `/api/shield/approve/${pid}`, { as, body: {} })).body.status;

Deno.test("compliance: an approval by the requester is an exception, whoever gave the last one", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const other = await world.join(here.owner, ["admin"]);
  for (const [first, last] of [[here.owner, other], [other, here.owner]] as const) {
    const pid = await waiting(world, here);
    eq(await approve(world, pid, first), "pending");
    eq(await approve(world, pid, last), "approved");
  }
  await world.settle();
  const { report } = await make(world, here.owner, "commands", "24h");
  const rows = await rowsOf(world, here.owner, report);
  for (
    const [id, type] of [
      ["approvals_by_requester", "approval_resolved"],
      ["approvals_given_by_requester", "approval_given"],
    ]
  ) {
    const query = report.queries.find((each) => each.id === id)!;
    eq(query.rows, 1, id);
    deq(found(query, rows).map(({ event_type, actor }) => [event_type, actor]), [
      [type, here.owner.userId],
    ]);
    eq(report.exceptions.listed.filter((each) => each.query === id).length, 1, id);
  }
  eq(report.queries.find(({ id }) => id === "self_approvals")!.rows, 2);
});

Deno.test("queriesMatching: absent members are not equal", () => {
  const row = { event_type: "approval_given", resource_type: "approval", details: {} };
  ok(QUERIES.approvals_given_by_requester.same);
  deq(queriesMatching(row as never), ["approvals_given"]);
});

Deno.test("compliance: the access review counts a person's Telegram actions, also after the link was deleted", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS, { expires_days: 30 });
  const bot = await makeIngestToken(world, owner, "telegram");
  const tell = (text: string, chat_id: number) =>
    world.call("POST", "/api/tg/webhook", {
      body: { chat_id, message: text },
      headers: { "x-telegram-bot-api-secret-token": bot.token },
    });
  const people: Account[] = [];
  const links: string[] = [];
  for (const chat of [CHAT, CHAT + 1]) {
    const person = await world.join(owner, ["operator"]);
    const { body } = await world.call("POST", LINKS, { as: person.token });
    await tell(body.message, chat);
    people.push(person);
    const listed = await world.call("GET", LINKS, { as: person.token });
    links.push(listed.body.telegram_links[0].id);
  }
  const [chats, bystander] = [people, await world.join(owner, ["operator"])];
  // Their joining and linking lies before the period.
  world.clock.advance(25 * HOUR_MS);
  await world.settle();
  const agent = await ScriptedAgent.connect(world, key.value);
  const { body: { token } } = await world.call("POST", "/api/v1/login", {
    body: { email: owner.email, password: "password 1" },
  });
  const later = { key, agent, owner: { ...owner, token } };
  const pid = await waiting(world, later);
  for (const chat of [CHAT, CHAT + 1]) await tell(`/approve ${pid}`, chat);
  await world.settle();
  const review = async () => (await make(world, later.owner, "access-review", "24h")).report;
  const shown = async (id: string) =>
    (await review()).access!.users.listed.find((u) => u.id === id)!;
  for (const [n, { userId }] of chats.entries()) {
    const { rows_in_period, telegram_links, remarks } = await shown(userId);
    // The vote, and its mark as a self-approval: the owner, who asked, made the bot.
    deq([rows_in_period, telegram_links, remarks.includes(UNUSED)], [2, [links[n]], false]);
  }
  const { rows_in_period, telegram_links, remarks } = await shown(bystander.userId);
  deq([rows_in_period, telegram_links, remarks.includes(UNUSED)], [0, [], true]);
  const again = await world.call("POST", "/api/v1/login", {
    body: { email: chats[0]!.email, password: "password 1" },
  });
  eq((await world.call("DELETE", `${LINKS}/${links[0]}`, { as: again.body.token })).status, 204);
  await world.settle();
  // The vote with its mark, the sign-in and the deletion of the link.
  const former = await shown(chats[0]!.userId);
  deq([former.rows_in_period, former.telegram_links], [4, [links[0]]]);
});

Deno.test("accessNow: partial counts of a person are not shown as complete", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const did = { rows: 7, last_at: "2029-12-31T00:00:00.000Z" };
  const links = new Map([["tgl_gone", owner.userId]]);
  const shown = async (others: number) => {
    const actors = new Map(Array.from({ length: others }, (_, n) => [`key_${n}`, did]));
    const counted = { actors: actors.set(owner.userId, did), links };
    const access = await accessNow(world.app, liveOf(owner), counted, 10);
    const { rows_in_period, last_row_at } = access.users.listed[0]!;
    return [rows_in_period, last_row_at];
  };
  deq(await shown(0), [7, did.last_at]);
  deq(await shown(ACTORS_MAX - 1), [null, null]);
});

Deno.test("compliance: usable keys are listed before ended ones and counted separately", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const made = [];
  for (let n = 0; n < 3; n++) made.push(await world.key(owner, ["agents:read"]));
  const [revoked, ...usable] = made.map(({ id }) => id);
  await world.call("POST", `/api/v1/api-keys/${revoked}/revoke`, { as: owner.token });
  const { report } = await make(world, owner, "access-review", "24h");
  const keys = report.access!.api_keys;
  deq([keys.total, keys.usable], [3, 2]);
  deq(keys.listed.map(({ id, status }) => [id, status]), [
    ...usable.map((id) => [id, "active"]),
    [revoked, "revoked"],
  ]);
  const answer = await world.raw("GET", "/api/v1/compliance/report?format=html", {
    as: owner.token,
  });
  const page = await answer.text();
  ok(page.includes("3 in all, of which 2 work."));
  ok(
    page.includes(`<span title="${owner.userId}">${owner.email}</span>`),
    "names, ids as tooltips",
  );
});

Deno.test("compliance: keys of a deactivated creator have no rights, and the review says why", async () => {
  await using world = await World.open();
  await world.signUp(); // the host
  const owner = await world.signUp();
  const clerk = await world.join(owner, ["admin"]);
  const key = await world.key(clerk, ["agents:read", "agents:write"]);
  const shown = async () => {
    const { report } = await make(world, owner, "access-review", "24h");
    const { rights, remarks } = report.access!.api_keys.listed.find(({ id }) => id === key.id)!;
    return [rights, remarks.filter((remark) => remark !== UNUSED)];
  };
  deq(await shown(), [["agents:read", "agents:write"], []]);
  const path = `/api/v1/users/${clerk.userId}/deactivate`;
  const { status, text } = await world.call("POST", path, { as: owner.token });
  eq(status, 200, text);
  deq(await shown(), [[], ["its creator is gone or deactivated"]]);
});
