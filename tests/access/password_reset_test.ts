import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { openMemoryStore } from "../cluster/shared_store.ts";
import { exec, linkAgent } from "../support/linked_agent.ts";
import { type Account, World } from "../support/world.ts";
import { alive, codeOf, enrol, logIn, refused } from "./account_fixtures.ts";
import { stored } from "./console/console_fixtures.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const NEW = "a new password";

const create = (world: World, as: string, { userId }: Pick<Account, "userId">) =>
  world.call("POST", `/api/v1/users/${userId}/password-reset`, { as });
const use = (world: World, token: string, password = NEW, from = "192.0.2.1") =>
  world.call("POST", "/api/v1/password-reset", { body: { token, password }, from });

/** An organization that is not the host, with an administrator and an operator. */
async function people(world: World) {
  await world.signUp();
  const owner = await world.signUp();
  const admin = await world.join(owner, ["admin"]);
  const user = await world.join(owner, ["operator"]);
  return { owner, admin, user, old: "password 2" };
}

async function token(world: World, { token: as }: Account, user: Account): Promise<string> {
  const answer = await create(world, as, user);
  eq(answer.status, 201, answer.text);
  return answer.body.token;
}

const events = async (world: World, { token: as }: Account, type: string) =>
  (await world.call("GET", `/api/audit?event_type=${type}`, { as })).body.events;

Deno.test("password reset: the link is shown once, sets the password once, and ends every session", async () => {
  await using world = await World.open({ settings: { publicUrl: "https://relay.example" } });
  const { admin, user, old, owner } = await people(world);
  const answer = await create(world, admin.token, user);
  deq([answer.status, answer.headers.get("cache-control")], [201, "no-store"]);
  const { token, url, expires_at } = answer.body;
  eq(url, `https://relay.example/console/reset#${token}`);
  eq(expires_at, new Date(world.clock.nowMs + DAY_MS).toISOString());
  ok(!(await stored(world)).join().includes(token), "only its digest is stored");
  ok(await alive(world, user.token), "the link alone changes nothing");
  const used = await use(world, token);
  deq([used.status, used.body.email], [200, user.email]);
  eq(await alive(world, user.token), false);
  deq(refused(await logIn(world, user.email, old)), [401, "INVALID_LOGIN"]);
  eq((await logIn(world, user.email, NEW)).status, 200);
  deq(refused(await use(world, token)), [410, "GONE"]);
  const [made] = await events(world, owner, "password_reset_created");
  deq([made.actor, made.resource_id], [admin.userId, user.userId]);
  deq(made.details, { email: user.email, expires_at });
  const [changed] = await events(world, owner, "password_reset_used");
  deq([changed.actor, changed.resource_id], [user.userId, user.userId]);
  deq(changed.details, {
    email: user.email,
    created_by: admin.userId,
    address: "192.0.2.1",
    sessions_ended: 1,
  });
});

Deno.test("password reset: a link ends after 24 hours, with a newer link, a changed password and a deactivation", async () => {
  await using world = await World.open();
  const { owner, admin, user, old } = await people(world);
  // Several instances count wrong tokens in the store.
  const uncounted = async () =>
    (await stored(world)).filter((row) => !row.includes(" secret_attempts "));
  const gone = async (text: string) => {
    const before = await uncounted();
    deq(refused(await use(world, text)), [410, "GONE"]);
    deq(await uncounted(), before);
  };
  const first = await token(world, admin, user);
  const second = await token(world, admin, user);
  await gone(first);
  const body = { current_password: old, new_password: "changed by hand" };
  const changed = await world.call("POST", "/api/account/password", { as: user.token, body });
  eq(changed.status, 200);
  await gone(second);
  const third = await token(world, admin, user);
  for (const what of ["deactivate", "activate"]) {
    const path = `/api/v1/users/${user.userId}/${what}`;
    if (what === "activate") {
      deq(refused(await create(world, owner.token, user)), [409, "CONFLICT"]);
    }
    eq((await world.call("POST", path, { as: owner.token })).status, 200);
    await gone(third);
  }
  const fourth = await token(world, admin, user);
  world.clock.nowMs += DAY_MS;
  await gone(fourth);
  await gone("reset_unknown");
});

Deno.test("password reset: a link ends when its creator may no longer reset that user", async () => {
  await using world = await World.open();
  const { owner, admin, user } = await people(world);
  const assign = (role: string, what: string, user_id: string) =>
    world.call("POST", `/api/v1/roles/${role}/${what}`, { as: owner.token, body: { user_id } });
  const ofUser = await token(world, admin, user);
  eq((await assign("owner", "assign", user.userId)).status, 200);
  deq(refused(await use(world, ofUser)), [410, "GONE"], "the user has more rights now");
  eq((await assign("owner", "revoke", user.userId)).status, 200);
  const key = await world.key(admin, ["system:write", ...await rightsOf(world, user)]);
  const byKey = (await create(world, key.value, user)).body.token;
  eq((await world.call("DELETE", `/api/v1/api-keys/${key.id}`, { as: admin.token })).status, 204);
  deq(refused(await use(world, byKey)), [410, "GONE"], "the key has ended");
  const again = await token(world, admin, user);
  eq((await assign("admin", "revoke", admin.userId)).status, 200);
  deq(refused(await use(world, again)), [410, "GONE"], "the administrator is none any more");
});

const rightsOf = async (world: World, { token: as }: Account): Promise<string[]> =>
  (await world.call("GET", "/api/account/info", { as })).body.scopes;

Deno.test("password reset: nobody resets themselves, more rights than their own, or another organization", async () => {
  await using world = await World.open();
  const { owner, admin, user } = await people(world);
  const stranger = await world.signUp();
  const all = await world.key(owner, [...await rightsOf(world, owner)]);
  const before = await stored(world);
  const refusals: [string, Account, number, string][] = [
    [admin.token, owner, 403, "FORBIDDEN"],
    [all.value, owner, 409, "CONFLICT"],
    [owner.token, owner, 409, "CONFLICT"],
    [user.token, admin, 403, "INSUFFICIENT_SCOPES"],
    [stranger.token, user, 404, "NOT_FOUND"],
    [admin.token, { ...user, userId: "usr_missing" }, 404, "NOT_FOUND"],
  ];
  for (const [as, whom, ...expected] of refusals) {
    deq(refused(await create(world, as, whom)), expected);
  }
  const resets = (rows: string[]) => rows.filter((row) => row.includes("password_resets"));
  deq([resets(before), resets(await stored(world))], [[], []]);
  const second = await world.join(owner, ["owner"]);
  const few = await world.key(owner, ["system:write"]);
  deq(refused(await create(world, few.value, user)), [403, "INSUFFICIENT_SCOPES"]);
  deq(refused(await create(world, all.value, second)), [403, "FORBIDDEN"]);
  eq((await create(world, owner.token, second)).status, 201);
});

Deno.test("password reset: the second factor stays", async () => {
  await using world = await World.open();
  const { admin, user, old } = await people(world);
  const { secret } = await enrol(world, user, old);
  eq((await use(world, await token(world, admin, user))).status, 200);
  world.clock.nowMs += 60_000;
  const asked = await logIn(world, user.email, NEW);
  deq([asked.status, asked.body.error.details.reason], [401, "second_factor_required"]);
  eq((await logIn(world, user.email, NEW, codeOf(world, secret))).status, 200);
});

Deno.test("password reset: whoever created the link approves nothing of their own by it, until the password changes", async () => {
  await using world = await World.open();
  await world.signUp();
  const here = await linkAgent(world);
  const admin = await world.join(here.owner, ["admin"]);
  const user = await world.join(here.owner, ["operator"]);
  const held = await exec(world, here, "systemctl stop nginx", { as: admin.token });
  const pid = held.body.approval_id;
  const approve = (as: string) => world.call("POST", `/api/shield/approve/${pid}`, { as });
  eq((await use(world, await token(world, admin, user))).status, 200);
  const signedIn = (await logIn(world, user.email, NEW)).body.token;
  const before = await world.trail(here.owner);
  deq(refused(await approve(signedIn)), [403, "FORBIDDEN"]);
  deq((await world.trail(here.owner)).slice(before.length), ["access_denied"]);
  const body = { current_password: NEW, new_password: "known to nobody else" };
  eq((await world.call("POST", "/api/account/password", { as: signedIn, body })).status, 200);
  eq((await approve(signedIn)).status, 200);
});

Deno.test("password reset: a short password uses no link up, and ten wrong tokens lock a network out", async () => {
  await using world = await World.open();
  const { admin, user } = await people(world);
  const good = await token(world, admin, user);
  deq(refused(await use(world, good, "short")), [400, "VALIDATION_FAILED"]);
  for (let n = 0; n < 10; n++) deq(refused(await use(world, `reset_${n}`)), [410, "GONE"]);
  const limited = await use(world, good);
  deq(refused(limited), [429, "RATE_LIMIT_EXCEEDED"]);
  match(limited.body.error.message, /with reset links from your network address/);
  eq((await use(world, good, NEW, "198.51.100.7")).status, 200);
});

Deno.test("password reset: of two simultaneous uses at two instances one sets the password", async () => {
  const { opened: kv } = openMemoryStore();
  await using one = await World.open({ kv, sole: false });
  await using two = await World.open({ kv, sole: false, clock: one.clock, seed: 2 });
  const { admin, user } = await people(one);
  const link = await token(one, admin, user);
  const answers = await Promise.all([
    use(one, link, "chosen at one"),
    use(two, link, "chosen at two"),
  ]);
  deq(answers.map(({ status }) => status).sort(), [200, 410]);
  const winner = answers[0]!.status === 200 ? "chosen at one" : "chosen at two";
  eq((await logIn(two, user.email, winner)).status, 200);
});
