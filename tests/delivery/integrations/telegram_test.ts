import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { users } from "../../../kv/records/user.ts";
import { type Account, World } from "../../support/world.ts";
import { eventsOf, exec, linkAgent, type Linked, runsOf } from "../../support/linked_agent.ts";
import { makeIngestToken, shownOf, storedKeys } from "../../agents/commands/ingest_fixtures.ts";

const RISKY = "systemctl stop nginx";
const ACCEPTED = '{"accepted":true}';
const BOB = 5_123_456_789;

interface Chat extends Linked {
  readonly approver: Account;
  readonly bot: { readonly id: string; readonly token: string };
}

async function setUp(world: World): Promise<Chat> {
  const here = await linkAgent(world);
  const approver = await world.join(here.owner, ["operator"]);
  // The bot's creator counts as behind its messages, so it is neither requester nor approver here.
  const keeper = await world.join(here.owner, ["owner"]);
  return { ...here, approver, bot: await makeIngestToken(world, keeper, "telegram") };
}

let updates = 890_123_000;

/** An Update in Telegram's format. */
function update(from: number, text: string, message: Record<string, unknown> = {}) {
  const name = { first_name: "Bob", username: "bob" };
  return {
    update_id: ++updates,
    message: {
      message_id: updates % 1000,
      from: { id: from, is_bot: false, ...name, language_code: "en" },
      chat: { id: from, ...name, type: "private" },
      date: 1_893_456_000,
      text,
      entities: [{ offset: 0, length: text.split(" ")[0]!.length, type: "bot_command" }],
      ...message,
    },
  };
}

const tell = (world: World, secret: string | null, body: unknown) =>
  world.call("POST", "/api/tg/webhook", {
    body,
    headers: secret === null ? {} : { "x-telegram-bot-api-secret-token": secret },
  });

async function link(world: World, { bot }: Chat, who: Account, account = BOB) {
  const path = "/api/shield/telegram-links";
  const { status, body } = await world.call("POST", path, { as: who.token });
  eq(status, 201);
  const answer = await tell(world, bot.token, update(account, body.message));
  deq([answer.status, answer.body.method, answer.body.chat_id], [200, "sendMessage", account]);
  ok(answer.body.text.startsWith("This account is linked."), answer.body.text);
  return body.code as string;
}

/** Requests a command of the owner that needs approval; returns its process id. */
async function waiting(world: World, here: Linked): Promise<string> {
  const { status, body } = await exec(world, here, RISKY);
  eq(status, 202);
  return body.approval_id;
}

const approval = async (world: World, { owner }: Linked, pid: string) =>
  (await world.call("GET", `/api/shield/approvals/${pid}`, { as: owner.token })).body;

Deno.test("telegram: a linked account approves and rejects as its person, and the trail records the link", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await link(world, here, here.approver);
  const pid = await waiting(world, here);
  const said = await tell(
    world,
    here.bot.token,
    update(BOB, `/approve@relay_bot ${pid} go on\nnow`),
  );
  deq([said.status, said.body.text], [200, `${pid} is approved.`]);
  const { status, decisions: [decision, ...more] } = await approval(world, here, pid);
  deq([status, more, decision.user_id, decision.reason], [
    "approved",
    [],
    here.approver.userId,
    "go on\nnow",
  ]);
  await world.settle();
  eq(runsOf(here.agent).length, 1);
  const { body } = await world.call("GET", "/api/shield/telegram-links", {
    as: here.approver.token,
  });
  deq([body.telegram_links[0].id, body.telegram_links[0].telegram_id], [decision.actor, `${BOB}`]);
  const told = await eventsOf(world, here.owner, pid);
  eq(told.at(-1)!.actor, decision.actor);
  const other = await waiting(world, here);
  const rejected = await tell(world, here.bot.token, update(BOB, `/reject ${other}`));
  eq(rejected.body.text, `${other} is rejected.`);
  const again = await tell(world, here.bot.token, update(BOB, `/approve ${other}`));
  ok(again.body.text.includes("already rejected"));
});

Deno.test("telegram: a repeated update gets the first answer and decides nothing", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await link(world, here, here.approver);
  await world.call("PATCH", "/api/shield/settings", {
    as: here.owner.token,
    body: { approvals: { required: 2 } },
  });
  const pid = await waiting(world, here);
  const said = update(BOB, `/approve ${pid}`);
  const first = await tell(world, here.bot.token, said);
  const before = await storedKeys(world);
  const again = await Promise.all([1, 2, 3].map(() => tell(world, here.bot.token, said)));
  for (const answer of again) deq(shownOf(answer), shownOf(first));
  deq(await storedKeys(world), before);
  eq((await approval(world, here, pid)).decisions.length, 1);
});

Deno.test("telegram: without the right secret nothing happens, and the answer is always the same", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await link(world, here, here.approver);
  const pid = await waiting(world, here);
  const { body: { message } } = await world.call("POST", "/api/shield/telegram-links", {
    as: here.approver.token,
  });
  const generic = await makeIngestToken(world, here.owner, "generic");
  const quiet = await tell(world, here.bot.token, update(BOB, "hello"));
  deq([quiet.status, quiet.text], [202, ACCEPTED]);
  const before = await storedKeys(world);
  const bodies = [
    update(BOB, `/approve ${pid}`),
    update(BOB, message),
    { chat_id: BOB, message: `/approve ${pid}` },
    { update_id: 1 },
    {},
  ];
  for (const secret of [null, "", "wrong", generic.token, here.owner.token, `${here.bot.token}x`]) {
    for (const body of bodies) {
      deq(shownOf(await tell(world, secret, body)), shownOf(quiet));
    }
  }
  const bearer = await world.call("POST", "/api/tg/webhook", {
    as: here.bot.token,
    body: bodies[0],
  });
  deq(shownOf(bearer), shownOf(quiet));
  deq(await storedKeys(world), before);
});

Deno.test("telegram: only a person's own words count", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await link(world, here, here.approver);
  const pid = await waiting(world, here);
  const text = `/approve ${pid}`;
  const edited = update(BOB, text);
  const ignored = [
    update(BOB, text, { from: { id: BOB, is_bot: true, first_name: "Bot" } }),
    update(BOB, text, { from: undefined }),
    update(BOB, text, { sender_chat: { id: -100_123, type: "channel", title: "News" } }),
    update(BOB, text, { forward_origin: { type: "user", date: 1 } }),
    update(BOB, text, { forward_date: 1 }),
    update(BOB, text, { via_bot: { id: 9, is_bot: true, first_name: "Other" } }),
    { update_id: edited.update_id, edited_message: edited.message },
    update(BOB, `please ${text}`),
    update(BOB, "/approve"),
    { chat_id: -BOB, message: text },
    { chat_id: "a channel", message: text },
  ];
  for (const body of ignored) {
    const { status, text } = await tell(world, here.bot.token, body);
    deq([status, text], [202, ACCEPTED]);
  }
  const group = { chat: { id: -100_777, type: "supergroup", title: "Ops" } };
  const stranger = await tell(world, here.bot.token, update(BOB + 1, text, group));
  deq([stranger.body.chat_id, stranger.body.text.slice(0, 26)], [
    -100_777,
    "This account is not linked",
  ]);
  eq((await approval(world, here, pid)).status, "pending");
  const short = await tell(world, here.bot.token, { chat_id: `${BOB}`, message: text });
  eq(short.body.text, `${pid} is approved.`);
});

Deno.test("telegram: a person's present rights apply, and nobody approves their own request", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await link(world, here, here.approver);
  await link(world, here, here.owner, BOB + 1);
  const pid = await waiting(world, here);
  const own = await tell(world, here.bot.token, update(BOB + 1, `/approve ${pid}`));
  ok(own.body.text.includes("You cannot approve your own request"));
  const tenant = { org: here.owner.org, space: "live" } as const;
  const change = (over: Record<string, unknown>) =>
    world.app.store.transact(async (tx) => {
      const user = await tx.get(users, tenant, here.approver.userId);
      tx.put(users, tenant, { ...user!, ...over });
    });
  await change({ roles: ["viewer"] });
  const viewer = await tell(world, here.bot.token, update(BOB, `/approve ${pid}`));
  ok(viewer.body.text.includes("approvals:write"));
  eq((await world.trail(here.owner)).at(-1), "access_denied");
  await change({ roles: ["operator"], active: false });
  const gone = await tell(world, here.bot.token, update(BOB, `/approve ${pid}`));
  ok(gone.body.text.includes("not linked"));
  eq((await approval(world, here, pid)).status, "pending");
  await change({ active: true });
  eq((await tell(world, here.bot.token, update(BOB, `/approve ${pid}`))).status, 200);
  eq((await approval(world, here, pid)).status, "approved");
});

Deno.test("telegram: a code works once, for ten minutes, and only the newest does", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const code = await link(world, here, here.approver);
  for (const key of await storedKeys(world)) ok(!key.includes(code));
  const make = async () =>
    (await world.call("POST", "/api/shield/telegram-links", { as: here.approver.token })).body;
  const said = async (text: string, account = BOB + 5) =>
    (await tell(world, here.bot.token, update(account, text))).body.text as string;
  ok((await said(`/link ${code}`)).includes("not valid"));
  const old = await make();
  const fresh = await make();
  ok((await said(old.message)).includes("not valid"));
  world.clock.nowMs += 10 * 60 * 1000;
  ok((await said(fresh.message)).includes("not valid"));
  const last = await make();
  world.clock.nowMs += 10 * 60 * 1000 - 1;
  ok((await said(last.message)).startsWith("This account is linked."));
});

Deno.test("telegram: links are private to their person, end at once, and no key creates one", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await link(world, here, here.approver);
  const path = "/api/shield/telegram-links";
  const key = await world.key(here.owner, ["approvals:write"]);
  for (const method of ["POST", "GET"]) {
    const { status, body } = await world.call(method, path, { as: key.value });
    deq([status, body.error.code], [403, "FORBIDDEN"]);
  }
  const [mine] = (await world.call("GET", path, { as: here.approver.token })).body.telegram_links;
  deq((await world.call("GET", path, { as: here.owner.token })).body.telegram_links, []);
  const stranger = await world.signUp();
  for (const who of [here.owner, stranger]) {
    const theirs = await world.call("DELETE", `${path}/${mine.id}`, { as: who.token });
    const none = await world.call("DELETE", `${path}/tgl_none`, { as: who.token });
    deq([theirs.status, theirs.body.error.message], [404, none.body.error.message]);
  }
  eq((await world.call("DELETE", `${path}/${mine.id}`, { as: here.approver.token })).status, 204);
  const pid = await waiting(world, here);
  const said = await tell(world, here.bot.token, update(BOB, `/approve ${pid}`));
  ok(said.body.text.includes("not linked"));
  const told = await eventsOf(world, here.owner, mine.id);
  deq(told.map(({ event_type }) => event_type), ["telegram_linked", "telegram_unlinked"]);
});

Deno.test("telegram: a person has at most 20 links, and a deleted one frees its place", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const as = here.approver.token;
  const path = "/api/shield/telegram-links";
  for (let n = 0; n < 20; n++) await link(world, here, here.approver, BOB + n);
  const { body: { message } } = await world.call("POST", path, { as });
  const say = async () =>
    (await tell(world, here.bot.token, update(BOB + 20, message))).body.text as string;
  ok((await say()).startsWith("You have already linked 20 accounts."));
  const [first] = (await world.call("GET", path, { as })).body.telegram_links;
  await world.call("DELETE", `${path}/${first.id}`, { as });
  ok((await say()).startsWith("This account is linked."));
});

Deno.test("telegram: another bot, another organization and a deleted token decide nothing", async () => {
  await using world = await World.open();
  const here = await setUp(world), there = await setUp(world);
  await link(world, here, here.approver);
  await link(world, there, there.approver, BOB + 2);
  const pid = await waiting(world, here);
  const second = await makeIngestToken(world, here.owner, "telegram");
  const text = `/approve ${pid}`;
  const forged = await tell(world, second.token, update(BOB, text));
  ok(forged.body.text.includes("not linked"), "a link is of one bot only");
  const foreign = await tell(world, there.bot.token, update(BOB + 2, text));
  const none = await tell(world, there.bot.token, update(BOB + 2, "/approve prc_none"));
  eq(foreign.body.text, none.body.text);
  const { body: { message } } = await world.call("POST", "/api/shield/telegram-links", {
    as: here.approver.token,
  });
  const elsewhere = await tell(world, there.bot.token, update(BOB + 3, message));
  ok(elsewhere.body.text.includes("not valid"));
  await world.call("DELETE", `/api/v1/ingest-tokens/${here.bot.id}`, { as: here.owner.token });
  eq((await tell(world, here.bot.token, update(BOB, text))).text, ACCEPTED);
  eq((await approval(world, here, pid)).status, "pending");
});

Deno.test("telegram: a decision needs at most ten checks a commit", async () => {
  await using world = await World.open({ sole: false });
  const here = await setUp(world);
  await link(world, here, here.approver);
  const pid = await waiting(world, here);
  const said = await tell(world, here.bot.token, update(BOB, `/approve ${pid}`));
  eq(said.body.text, `${pid} is approved.`);
});

Deno.test("telegram: a button decides once as the person who presses it, and the press is answered", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await link(world, here, here.approver);
  const pid = await waiting(world, here);
  const pressed = (from: number, data: string) => ({
    update_id: ++updates,
    callback_query: {
      id: "4382bfdwdsb323b2d9",
      from: { id: from, is_bot: false, first_name: "Bob" },
      message: { message_id: 7, date: 1_893_456_000, chat: { id: -100, type: "group" } },
      chat_instance: "1",
      data,
    },
  });
  const stranger = await tell(world, here.bot.token, pressed(BOB + 1, `/approve ${pid}`));
  eq(stranger.body.method, "answerCallbackQuery");
  ok(stranger.body.text.startsWith("This account is not linked."));
  const code = await tell(world, here.bot.token, pressed(BOB + 1, "/link ABCDEF"));
  eq(code.text, ACCEPTED);
  const approving = pressed(BOB, `/approve ${pid}`);
  const first = await tell(world, here.bot.token, approving);
  deq(first.body, {
    method: "answerCallbackQuery",
    callback_query_id: "4382bfdwdsb323b2d9",
    text: `${pid} is approved.`,
    show_alert: true,
  });
  deq((await tell(world, here.bot.token, approving)).body, first.body);
  await world.settle();
  eq(runsOf(here.agent).length, 1);
});
