import { parseConfig } from "../../../core/context/config.ts";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { resetPassword } from "../../../core/access/sign_in/reset.ts";
import { sessions } from "../../../kv/records/user.ts";
import { enrol, logIn } from "../../access/account_fixtures.ts";
import { tool, toolError } from "../../mcp/client.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { exec, linkAgent, type Linked, runsOf } from "../../support/linked_agent.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { type Account, World } from "../../support/world.ts";
import { makeIngestToken } from "../commands/ingest_fixtures.ts";
import { approve, link, says } from "./approval_fixtures.ts";

const RISKY = "systemctl stop nginx";
const FRESH_MS = 15 * 60_000;
const CONFIRMED = { confirm_self_approval: true };

/** An organization with one member, which is not the host. */
async function alone(world: World): Promise<Linked> {
  await world.signUp();
  return await linkAgent(world);
}

/** Starts a command that waits for approval; returns its process id. The clock moves on. */
async function ask(world: World, here: Linked, as = here.owner.token): Promise<string> {
  const { status, body } = await exec(world, here, RISKY, { as });
  eq(status, 202);
  world.clock.nowMs += 1;
  return body.approval_id;
}

/** A new sign-in of a person whom `World.signUp` made. */
async function signIn(world: World, { email }: Account): Promise<string> {
  const password = `password ${/\d+/.exec(email)}`;
  return (await logIn(world, email, password)).body.token;
}

const confirm = (world: World, pid: string, as: string, body: unknown = CONFIRMED) =>
  world.call("POST", `/api/shield/approve/${pid}`, { as, body });

/** Asserts that an approval is refused with this next step, and writes nothing. */
async function refused(
  world: World,
  here: Linked,
  pid: string,
  as: string,
  next: string | undefined,
  body: unknown = CONFIRMED,
): Promise<string> {
  const answer = await confirm(world, pid, as, body);
  const { code, message, details } = answer.body.error;
  deq([answer.status, code, details.next], [403, "FORBIDDEN", next]);
  await stillPending(world, here, pid);
  return message;
}

async function stillPending(world: World, here: Linked, pid: string): Promise<void> {
  await world.settle();
  const path = `/api/shield/approvals/${pid}`;
  const { body } = await world.call("GET", path, { as: here.owner.token });
  deq([body.status, body.decisions, runsOf(here.agent)], ["pending", [], []]);
  eq((await world.trail(here.owner)).includes("self_approval_given"), false);
}

Deno.test("sole member: a new sign-in and a confirmation approve the own request, which is marked everywhere", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const pid = await ask(world, here);
  const token = await signIn(world, here.owner);
  const message = await refused(world, here, pid, token, "confirm", {});
  const { body: { caller } } = await world.call("GET", `/api/shield/approvals/${pid}`, {
    as: token,
  });
  deq([caller.may_approve, caller.next, caller.why_not], [false, "confirm", message]);
  ok(message.includes('{"confirm_self_approval": true}'), message);
  const { status, body } = await confirm(world, pid, token);
  deq([status, body.status, body.decisions[0].self_approved], [200, "approved", true]);
  await world.settle();
  eq(runsOf(here.agent).length, 1);
  const { body: { events } } = await world.call(
    "GET",
    "/api/audit?event_type=self_approval_given",
    { as: here.owner.token },
  );
  deq(events.map(({ details }: { details: unknown }) => details), [{
    pid,
    command_id: body.command_id,
    decided_by: here.owner.userId,
    requested_by: here.owner.userId,
    reason: null,
    allowed_by: "sole_member",
  }]);
});

Deno.test("sole member: the person approves what a key asked for, and is notified of it", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const pid = await ask(world, here, here.key.value);
  const path = "/api/account/notifications";
  const { body } = await world.call("GET", path, { as: here.owner.token });
  deq(body.notifications.map(({ type }: { type: string }) => type), ["approval_requested"]);
  eq((await confirm(world, pid, await signIn(world, here.owner))).body.status, "approved");
});

Deno.test("sole member: no key, chat or earlier sign-in approves, by HTTP or MCP", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const other = await world.key(here.owner, ["approvals:write", "system:write"]);
  const bot = await makeIngestToken(world, here.owner, "telegram");
  await link(world, here.owner, bot.token);
  const given = await signIn(world, here.owner);
  const pid = await ask(world, here, given);
  for (const as of [other.value, given, here.owner.token]) {
    const message = await refused(world, here, pid, as, "sign_in");
    ok(message.includes("POST /api/v1/login"), message);
    const reply = await tool(world, "approve", { pid, ...CONFIRMED }, { as });
    deq([toolError(reply).code, toolError(reply).details.next], ["FORBIDDEN", "sign_in"]);
    await stillPending(world, here, pid);
  }
  const { body: { text } } = await says(world, bot.token, `/approve ${pid}`);
  ok(text.startsWith("You cannot approve your own request with this credential."), text);
  await stillPending(world, here, pid);
  const late = await world.key(here.owner, ["approvals:write"]);
  await refused(world, here, pid, late.value, "sign_in");
});

Deno.test("sole member: a terminal that an older session signed in approves nothing", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const pid = await ask(world, here);
  const started = await world.call("POST", "/api/v1/login/device", { body: { device_name: "x" } });
  const { device_code, user_code } = started.body;
  const decide = { as: here.owner.token, body: { user_code, approve: true } };
  eq((await world.call("POST", "/api/account/device-login/decide", decide)).status, 200);
  const polled = await world.call("POST", "/api/v1/login/device/token", { body: { device_code } });
  await refused(world, here, pid, polled.body.session.token, "sign_in");
});

Deno.test("sole member: a sign-in at an issuer, which may ask for no password, approves nothing", async () => {
  const issuer = "https://login.example";
  await using world = await World.open({ config: NO_LIMITS });
  const here = await alone(world);
  const issuers = [{ issuer, audience: "relay", client_id: "relay", organization: here.owner.org }];
  const { auth } = parseConfig(JSON.stringify({ auth: { issuers } }));
  for (const app of world.apps) Object.assign(app.config(), { auth });
  const pid = await ask(world, here);
  const as = await signIn(world, here.owner);
  const home = { org: here.owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const own = { index: "user", prefix: [here.owner.userId], limit: 1, reverse: true };
    const [session] = (await tx.list(sessions, home, own)).items;
    tx.put(sessions, home, { ...session!, issuer });
  });
  await refused(world, here, pid, as, "sign_in");
});

Deno.test("sole member: a refresh does not make a sign-in newer, and MCP takes a new one", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const password = `password ${/\d+/.exec(here.owner.email)}`;
  const { body: { refresh_token } } = await logIn(world, here.owner.email, password);
  const pid = await ask(world, here);
  const refresh = { body: { refresh_token } };
  const { body: { token } } = await world.call("POST", "/api/v1/token/refresh", refresh);
  await refused(world, here, pid, token, "sign_in");
  const as = await signIn(world, here.owner);
  const reply = await tool(world, "approve", { pid, ...CONFIRMED }, { as });
  eq(reply.body.result.structuredContent.status, "approved");
});

Deno.test("sole member: a sign-in confirms for 15 minutes, also after the clock was set back", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const pid = await ask(world, here);
  const as = await signIn(world, here.owner);
  world.clock.nowMs += FRESH_MS;
  await refused(world, here, pid, as, "sign_in");
  const ahead = await signIn(world, here.owner);
  world.clock.nowMs -= FRESH_MS;
  await refused(world, here, pid, ahead, "sign_in");
  world.clock.nowMs += 1;
  eq((await confirm(world, pid, ahead)).body.status, "approved");
});

Deno.test("sole member: a self-approved command that was not sent is not run after somebody joined", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const pid = await ask(world, here);
  const { identity } = here.agent;
  here.agent.drop();
  const { body } = await confirm(world, pid, await signIn(world, here.owner));
  deq([body.status, body.command_status], ["approved", "queued"]);
  await world.join(here.owner, ["viewer"]);
  const again = await ScriptedAgent.connect(world, here.key.value, { identity });
  await world.settle();
  deq(runsOf(again), []);
});

Deno.test("sole member: with a second factor the new sign-in takes its code", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const password = `password ${/\d+/.exec(here.owner.email)}`;
  await enrol(world, here.owner, password);
  await ask(world, here);
  eq((await logIn(world, here.owner.email, password)).status, 401);
});

Deno.test("sole member: a reset password approves nothing until it is changed and used to sign in", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const pid = await ask(world, here, here.key.value);
  const { store, ports } = world.app;
  const { email } = here.owner;
  const { password } = await resetPassword(store, ports, email, false);
  const { body: { token } } = await logIn(world, email, password);
  const owner = { ...here.owner, token };
  await refused(world, { ...here, owner }, pid, token, "change_password");
  const new_password = "a password of my own";
  const change = { current_password: password, new_password };
  await world.call("POST", "/api/account/password", { as: token, body: change });
  const fresh = (await logIn(world, email, new_password)).body.token;
  eq((await confirm(world, pid, fresh)).body.status, "approved");
});

Deno.test("sole member: nobody is one after a second person joined, not even when that person is removed", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const before = await ask(world, here);
  const second = await world.join(here.owner, ["admin"]);
  const as = await signIn(world, here.owner);
  const message = await refused(world, here, before, as, undefined);
  ok(message.includes("Ask another approver"), message);
  const path = `/api/v1/users/${second.userId}/deactivate`;
  eq((await world.call("POST", path, { as })).status, 200);
  await refused(world, here, before, as, undefined);
  const after = await ask(world, here);
  await refused(world, here, after, await signIn(world, here.owner), undefined);
});

Deno.test("sole member: an invitation counts when it is accepted, and then an earlier self-approval no longer does", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const as = here.owner.token;
  await world.call("PATCH", "/api/shield/settings", { as, body: { approvals: { required: 2 } } });
  const invited = await world.call("POST", "/api/v1/invitations", {
    as,
    body: { roles: ["admin"] },
  });
  const pid = await ask(world, here);
  const token = await signIn(world, here.owner);
  eq((await confirm(world, pid, token)).body.status, "pending");
  const again = await confirm(world, pid, token);
  deq([again.status, again.body.error.code], [409, "CONFLICT"]);
  const body = {
    email: "second@example.com",
    password: "password of the second",
    invite_code: invited.body.invite_code,
  };
  const joined = await world.call("POST", "/api/v1/signup", { body });
  eq((await approve(world, pid, joined.body.token)).body.status, "pending");
  await world.settle();
  deq(runsOf(here.agent), []);
});

Deno.test("sole member: a confirmation changes nothing where somebody else must approve", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const colleague = await world.join(here.owner, ["operator"]);
  const pid = await ask(world, here);
  const { body } = await confirm(world, pid, colleague.token);
  deq([body.status, body.decisions[0].self_approved], ["approved", false]);
});

Deno.test("self-approval: what the settings allow is marked too", async () => {
  await using world = await World.open();
  const here = await alone(world);
  const as = here.owner.token;
  const settings = { approvals: { self_approval: true } };
  await world.call("PATCH", "/api/shield/settings", { as, body: settings });
  const { body } = await approve(world, await ask(world, here), here.owner.token);
  deq([body.status, body.decisions[0].self_approved], ["approved", true]);
  const path = "/api/audit?event_type=self_approval_given";
  const { body: { events } } = await world.call("GET", path, { as });
  eq(events[0].details.allowed_by, "settings");
});
