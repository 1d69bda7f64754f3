import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { roles } from "../../kv/records/role.ts";
import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import { INVITATIONS_MAX } from "../../core/access/invitations/open.ts";
import { type Account, type Answer, World } from "../support/world.ts";

const INVITATIONS = "/api/v1/invitations";
const DAY_MS = 24 * 60 * 60 * 1000;

const refused = ({ status, body }: Answer) => [status, body.error.code];

const invite = (world: World, { token }: Pick<Account, "token">, body: unknown = {}) =>
  world.call("POST", INVITATIONS, { as: token, body });

let people = 0;

/** Signs somebody new up with a code. */
const join = (world: World, invite_code: string, more: Record<string, unknown> = {}) =>
  world.call("POST", "/api/v1/signup", {
    body: {
      email: `newcomer${++people}@example.com`,
      password: "a newcomer's password",
      invite_code,
      ...more,
    },
  });

async function users(world: World, { token }: Pick<Account, "token">): Promise<string[]> {
  const { body } = await world.call("GET", "/api/v1/users", { as: token });
  return body.users.map(({ email }: { email: string }) => email);
}

Deno.test("invitations: the code makes one person a member with its roles, in every open mode", async () => {
  for (const signup of ["open", "invite"] as const) {
    await using world = await World.open({ settings: { signup } });
    const owner = await world.signUp();
    const made = await invite(world, owner, { roles: ["operator", "viewer", "operator"] });
    deq([made.status, made.body.status, made.body.roles], [201, "open", ["operator", "viewer"]]);
    eq(made.headers.get("cache-control"), "no-store");
    const page = `/console/join#${made.body.invite_code}`;
    eq(made.body.url, page, "a fragment is in no log and no Referer");
    const joined = await join(world, made.body.invite_code, { organization: "Not this one" });
    deq([joined.status, joined.body.organization.id], [201, owner.org]);
    eq(joined.body.user.role, "operator");
    const info = await world.call("GET", "/api/account/info", { as: joined.body.token });
    deq(info.body.user.roles, ["operator", "viewer"]);
    deq(refused(await join(world, made.body.invite_code)), [410, "GONE"]);
    const list = (await world.call("GET", INVITATIONS, { as: owner.token })).body;
    deq(
      [list.invitations[0].status, list.invitations[0].accepted_by, list.pagination.total],
      ["accepted", joined.body.user.id, 1],
    );
    ok(!JSON.stringify(list).includes(made.body.invite_code));
    eq((await users(world, owner)).length, 2);
    const trail = await world.trail(owner);
    ok(trail.includes("user_invited") && trail.filter((type) => type === "user_created")[1]);
  }
});

Deno.test("invitations.read: says to whoever holds the code what it is to, until it is over", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const email = "new@example.com";
  const { body: made } = await invite(world, owner, { roles: ["operator"], email });
  const read = (invite_code: string) =>
    world.call("POST", "/api/v1/signup/invitation", { body: { invite_code } });
  const { organization } = (await world.call("GET", "/api/account/info", { as: owner.token })).body;
  const { status, body, headers } = await read(made.invite_code);
  deq([status, headers.get("cache-control")], [200, "no-store"]);
  const { expires_at } = made;
  deq(body, { organization: organization.name, email, roles: ["operator"], expires_at });
  deq(refused(await read("invite_unknown")), [400, "VALIDATION_FAILED"]);
  eq((await join(world, made.invite_code, { email })).status, 201);
  deq(refused(await read(made.invite_code)), [410, "GONE"]);
});

Deno.test("invitations: a closed server accepts nobody, invited or not", async () => {
  await using world = await World.open({ settings: { signup: "closed" } });
  const owner = await world.signUp();
  const made = await invite(world, owner);
  deq(refused(await join(world, made.body.invite_code)), [403, "FORBIDDEN"]);
  eq((await users(world, owner)).length, 1);
});

Deno.test("invitations: of concurrent signups with one code exactly one succeeds", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { invite_code } = (await invite(world, owner)).body;
  const answers = await Promise.all([1, 2, 3].map(() => join(world, invite_code)));
  deq(answers.map(({ status }) => status).sort(), [201, 410, 410]);
  eq((await users(world, owner)).length, 2);
});

Deno.test("invitations: unknown, withdrawn and expired ones, and those for another email, are refused", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const unknown = await join(world, "invite_unknown");
  deq(refused(unknown), [400, "VALIDATION_FAILED"]);
  eq(unknown.body.error.details.issues[0].path, "body.invite_code");
  const withdrawn = (await invite(world, owner)).body;
  const drop = () => world.call("DELETE", `${INVITATIONS}/${withdrawn.id}`, { as: owner.token });
  eq((await drop()).status, 204);
  deq(refused(await drop()), [409, "CONFLICT"]);
  deq(refused(await join(world, withdrawn.invite_code)), [410, "GONE"]);
  const named = (await invite(world, owner, { email: "Friend@Example.com" })).body;
  deq(refused(await join(world, named.invite_code)), [400, "VALIDATION_FAILED"]);
  const brief = (await invite(world, owner, { expires_days: 1 })).body;
  world.clock.nowMs += DAY_MS;
  deq(refused(await join(world, brief.invite_code)), [410, "GONE"]);
  eq((await join(world, named.invite_code, { email: "friend@example.com" })).status, 201);
  const again = await world.call("POST", "/api/v1/login", {
    body: { email: owner.email, password: "password 1" },
  });
  eq((await users(world, again.body)).length, 2);
  const list = (await world.call("GET", INVITATIONS, { as: again.body.token })).body.invitations;
  deq(list.map(({ status }: { status: string }) => status), ["expired", "accepted", "withdrawn"]);
});

Deno.test("invitations: a person with an account cannot join another organization", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const { invite_code } = (await invite(world, owner)).body;
  deq(refused(await join(world, invite_code, { email: stranger.email })), [409, "CONFLICT"]);
  eq((await join(world, invite_code)).status, 201);
});

Deno.test("invitations: give no more than the inviter has, when made and when accepted", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const body = { name: "keeper", permissions: ["system:read", "system:write"] };
  await world.call("POST", "/api/v1/roles", { as: owner.token, body });
  const keeper = await world.join(owner, ["keeper"]);
  const admin = await world.join(owner, ["admin"]);
  deq(refused(await invite(world, keeper, { roles: ["viewer"] })), [403, "INSUFFICIENT_SCOPES"]);
  deq(refused(await invite(world, admin, { roles: ["owner"] })), [403, "FORBIDDEN"]);
  deq(refused(await invite(world, owner, { roles: ["nobody"] })), [404, "NOT_FOUND"]);
  const fromKeeper = (await invite(world, keeper, { roles: ["keeper"] })).body;
  const fromAdmin = (await invite(world, admin, { roles: ["viewer"] })).body;
  const fromOwner = (await invite(world, owner, { roles: ["owner"] })).body;
  const change = { user_id: keeper.userId };
  await world.call("POST", "/api/v1/roles/keeper/revoke", { as: owner.token, body: change });
  await world.call("POST", `/api/v1/users/${admin.userId}/deactivate`, { as: owner.token });
  for (const { invite_code } of [fromKeeper, fromAdmin]) {
    deq(refused(await join(world, invite_code)), [410, "GONE"]);
  }
  eq((await join(world, fromOwner.invite_code)).body.user.role, "owner");
});

Deno.test("invitations: one made by a key is void once the key may no longer give its roles", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const ends: [string, string, unknown?][] = [
    ["POST", "/revoke"],
    ["DELETE", ""],
    ["PATCH", "", { scopes: ["system:read", "system:write"] }],
  ];
  for (const [method, path, body] of ends) {
    const key = await world.key(owner, SCOPE_LIST);
    const { body: { invite_code } } = await invite(world, { token: key.value }, {
      roles: ["operator"],
    });
    const { body: other } = await invite(world, { token: key.value }, { roles: ["operator"] });
    eq((await join(world, other.invite_code)).status, 201);
    const ended = await world.call(method, `/api/v1/api-keys/${key.id}${path}`, {
      as: owner.token,
      body,
    });
    ok(ended.status < 300, ended.text);
    deq(refused(await join(world, invite_code)), [410, "GONE"]);
  }
  const brief = await world.key(owner, SCOPE_LIST, { expires_days: 1 });
  const { body } = await invite(world, { token: brief.value }, { roles: ["operator"] });
  world.clock.nowMs += DAY_MS;
  deq(refused(await join(world, body.invite_code)), [410, "GONE"]);
});

Deno.test("invitations: those of another organization look missing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const { id, invite_code } = (await invite(world, owner)).body;
  const drop = await world.call("DELETE", `${INVITATIONS}/${id}`, { as: stranger.token });
  eq(drop.status, 404);
  deq((await world.call("GET", INVITATIONS, { as: stranger.token })).body.invitations, []);
  eq((await join(world, invite_code)).status, 201);
});

Deno.test("invitations: concurrent requests do not exceed the maximum of open ones", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const room = 7;
  let last = "";
  for (let n = 0; n < INVITATIONS_MAX - room; n++) last = (await invite(world, owner)).body.id;
  const crowd = async () =>
    (await Promise.all(Array.from({ length: 20 }, () => invite(world, owner))))
      .filter(({ status }) => status === 201).length;
  eq(await crowd(), room);
  const withdrawn = await world.call("DELETE", `${INVITATIONS}/${last}`, { as: owner.token });
  eq(withdrawn.status, 204);
  eq(await crowd(), 1);
});

Deno.test("invitations: one for a deleted role is void", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const body = { name: "helper", permissions: ["agents:read"] };
  await world.call("POST", "/api/v1/roles", { as: owner.token, body });
  const { invite_code } = (await invite(world, owner, { roles: ["viewer", "helper"] })).body;
  const home = { org: owner.org, space: "live" } as const;
  await world.app.store.transact((tx) => tx.delete(roles, home, "helper"));
  deq(refused(await join(world, invite_code)), [410, "GONE"]);
});

Deno.test("invitations: expired ones do not count, and hide none that holds a role", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const short = (as: { token: string }, role: string) =>
    invite(world, as, { roles: [role], expires_days: 1 });
  for (let n = 0; n < INVITATIONS_MAX; n++) eq((await short(owner, "viewer")).status, 201);
  deq(refused(await short(owner, "viewer")), [409, "CONFLICT"]);
  world.clock.nowMs += DAY_MS;
  const body = { email: owner.email, password: "password 2" };
  const again = (await world.call("POST", "/api/v1/login", { body })).body;
  const call = { as: again.token, body: { name: "helper", permissions: ["agents:read"] } };
  eq((await world.call("POST", "/api/v1/roles", call)).status, 201);
  const kept = await short(again, "helper");
  eq(kept.status, 201, kept.text);
  const deleted = await world.call("DELETE", "/api/v1/roles/helper", { as: again.token });
  deq(deleted.body.error.details.invitations, [kept.body.id]);
});

Deno.test("users: a deactivated person has no session and no key, and gets rights and keys back when activated", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const person = await world.join(owner, ["admin"]);
  const key = await world.key(person, ["agents:read"]);
  const alive = async (as: string) =>
    (await world.call("GET", "/api/account/info", { as })).status === 200;
  const set = (action: string, id: string, as: string) =>
    world.call("POST", `/api/v1/users/${id}/${action}`, { as });
  eq((await set("deactivate", person.userId, owner.token)).body.active, false);
  deq([await alive(person.token), await alive(key.value)], [false, false]);
  eq((await set("activate", person.userId, owner.token)).body.active, true);
  deq([await alive(person.token), await alive(key.value)], [false, true]);
  const body = { email: person.email, password: "password 2" };
  const { token } = (await world.call("POST", "/api/v1/login", { body })).body;
  deq(refused(await set("deactivate", owner.userId, token)), [403, "FORBIDDEN"]);
  deq(refused(await set("deactivate", person.userId, token)), [409, "CONFLICT"]);
});
