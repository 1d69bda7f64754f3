import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST, SCOPES } from "../../core/identity/scopes.ts";
import { type Account, type Answer, World } from "../support/world.ts";
import { enrol } from "./account_fixtures.ts";
import { eventsOf } from "../support/linked_agent.ts";

const ROLES = "/api/v1/roles";

const make = (world: World, { token }: Account, name: string, permissions: readonly string[]) =>
  world.call("POST", ROLES, { as: token, body: { name, permissions } });

const give = (world: World, as: string, name: string, { userId }: Pick<Account, "userId">) =>
  world.call("POST", `${ROLES}/${name}/assign`, { as, body: { user_id: userId } });

const take = (world: World, as: string, name: string, { userId }: Pick<Account, "userId">) =>
  world.call("POST", `${ROLES}/${name}/revoke`, { as, body: { user_id: userId } });

const rolesOf = async (world: World, as: string, { userId }: Account): Promise<string[]> =>
  (await world.call("GET", `${ROLES}/user/${userId}`, { as })).body.roles;

/** Signs in again somebody who signed up second. */
async function logInAgain(world: World, { email }: Account): Promise<{ token: string }> {
  const body = { email, password: "password 2" };
  return (await world.call("POST", "/api/v1/login", { body })).body;
}

const refused = ({ status, body }: Answer) => [status, body.error.code];
const BEYOND = [403, "INSUFFICIENT_SCOPES"];

/** Two organizations; the first, which runs the installation, is not looked at. */
async function open(): Promise<{ world: World; owner: Account }> {
  const world = await World.open();
  await world.signUp();
  return { world, owner: await world.signUp() };
}

Deno.test("scopes.list: everyone with a credential reads every scope and what it allows", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const expected = SCOPE_LIST.map((name) => ({ name, description: SCOPES[name] }));
  for (const as of [owner.token, key.value]) {
    deq((await world.call("GET", "/api/v1/scopes", { as })).body, { scopes: expected });
  }
});

Deno.test("roles: the built-in ones always exist and never change", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const list = await world.call("GET", ROLES, { as: owner.token });
  deq(
    list.body.roles.map((role: { name: string; built_in: boolean }) => [role.name, role.built_in]),
    [["owner", true], ["admin", true], ["operator", true], ["viewer", true]],
  );
  deq(list.body.roles[0].permissions, ["all"]);
  for (const name of ["owner", "admin", "operator", "viewer"]) {
    const path = `${ROLES}/${name}`;
    const update = { as: owner.token, body: { permissions: ["agents:read"] } };
    deq(refused(await world.call("PUT", path, update)), [403, "FORBIDDEN"]);
    deq(refused(await world.call("DELETE", path, { as: owner.token })), [403, "FORBIDDEN"]);
    deq(refused(await make(world, owner, name, [])), [409, "CONFLICT"]);
    deq(refused(await make(world, owner, name.toUpperCase(), [])), [409, "CONFLICT"]);
  }
  deq((await world.call("GET", ROLES, { as: owner.token })).body, list.body);
});

Deno.test("roles: a custom one is created, read, listed, changed and deleted, each with an event", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const made = await make(world, owner, "deployer", ["agents:read", "agents:write", "agents:read"]);
  eq(made.status, 201);
  deq([made.body.built_in, made.body.permissions], [false, ["agents:read", "agents:write"]]);
  const path = `${ROLES}/deployer`;
  deq((await world.call("GET", path, { as: owner.token })).body, made.body);
  eq((await world.call("GET", ROLES, { as: owner.token })).body.pagination.total, 5);
  const body = { permissions: ["all", "agents:read"] };
  const changed = await world.call("PUT", path, { as: owner.token, body });
  deq([changed.status, changed.body.permissions], [200, ["all"]]);
  deq(refused(await make(world, owner, "deployer", [])), [409, "CONFLICT"]);
  eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
  eq((await world.call("GET", path, { as: owner.token })).status, 404);
  const told = await eventsOf(world, owner, "deployer");
  deq(told.map(({ event_type }) => event_type), ["role_created", "role_updated", "role_deleted"]);
});

Deno.test("roles: invalid permissions and names are refused with their path", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const before = await world.call("GET", ROLES, { as: owner.token });
  const faults: [string, unknown, string][] = [
    ["x", ["agents:fly"], "body.permissions.0"],
    ["x", ["agents:read", "ALL"], "body.permissions.1"],
    ["x", "agents:read", "body.permissions"],
    ["x", [""], "body.permissions.0"],
    ["", [], "body.name"],
    ["a/b", [], "body.name"],
    [" x", [], "body.name"],
    ["x".repeat(65), [], "body.name"],
  ];
  for (const [name, permissions, path] of faults) {
    const answer = await world.call("POST", ROLES, {
      as: owner.token,
      body: { name, permissions },
    });
    deq(refused(answer), [400, "VALIDATION_FAILED"]);
    eq(answer.body.error.details.issues[0].path, path);
  }
  deq((await world.call("GET", ROLES, { as: owner.token })).body, before.body);
});

Deno.test("roles: giving, changing and revoking one takes effect with the next request", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const person = await world.join(owner, []);
  const key = async () => (await world.call("GET", "/api/account/info", { as: person.token })).body;
  await make(world, owner, "auditor", ["audit:read"]);
  deq((await key()).scopes, []);
  const given = await give(world, owner.token, "auditor", person);
  deq([given.status, given.body.roles, given.body.permissions], [200, ["auditor"], ["audit:read"]]);
  deq((await key()).scopes, ["audit:read"]);
  const body = { permissions: ["agents:read"] };
  await world.call("PUT", `${ROLES}/auditor`, { as: owner.token, body });
  deq((await key()).scopes, ["agents:read"]);
  deq((await take(world, owner.token, "auditor", person)).body.permissions, []);
  deq((await key()).scopes, []);
  // Given twice and taken twice is given and taken once.
  await give(world, owner.token, "auditor", person);
  await give(world, owner.token, "auditor", person);
  await take(world, owner.token, "auditor", person);
  eq((await take(world, owner.token, "auditor", person)).status, 200);
  const told = await eventsOf(world, owner, person.userId);
  deq(
    told.map(({ event_type }) => event_type).filter((type) => type.startsWith("role_")),
    ["role_assigned", "role_revoked", "role_assigned", "role_revoked"],
  );
});

Deno.test("roles: one named like an object's built-in property gives its permissions and no more", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const person = await world.join(owner, ["viewer"]);
  for (const name of ["constructor", "toString", "valueOf"]) {
    eq((await make(world, owner, name, ["agents:write"])).status, 201);
    const given = await give(world, owner.token, name, person);
    eq(given.status, 200, given.text);
    ok(given.body.permissions.includes("agents:write"));
    const { body } = await world.call("GET", "/api/account/info", { as: person.token });
    deq(body.scopes.toSorted(), given.body.permissions.toSorted());
    eq((await take(world, owner.token, name, person)).status, 200);
  }
});

Deno.test("roles: a key can do what its creator's roles permit now", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const person = await world.join(owner, []);
  await make(world, owner, "maker", ["system:read", "system:write", "agents:read", "audit:read"]);
  await give(world, owner.token, "maker", person);
  const key = await world.key(person, ["agents:read", "audit:read"]);
  const scopes = async () =>
    (await world.call("GET", "/api/account/info", { as: key.value })).body.scopes;
  deq(await scopes(), ["agents:read", "audit:read"]);
  const put = (permissions: string[]) =>
    world.call("PUT", `${ROLES}/maker`, { as: owner.token, body: { permissions } });
  await put(["agents:read"]);
  deq(await scopes(), ["agents:read"]);
  await put(["all"]);
  deq(await scopes(), ["agents:read", "audit:read"]);
  await take(world, owner.token, "maker", person);
  deq(await scopes(), []);
});

Deno.test("roles: nobody creates, changes, gives or revokes more than their own rights", async () => {
  const { world, owner } = await open();
  await using _ = world;
  await make(world, owner, "keeper", ["system:read", "system:write", "agents:read"]);
  await make(world, owner, "strong", ["agents:admin"]);
  const keeper = await world.join(owner, ["keeper"]);
  const other = await world.join(owner, ["operator"]);
  const admin = await world.join(owner, ["admin"]);
  const as = keeper.token;
  const rights = { as, body: { permissions: ["agents:read"] } };
  deq(refused(await make(world, keeper, "mine", ["agents:write"])), BEYOND);
  deq(refused(await make(world, keeper, "mine", ["all"])), BEYOND);
  deq(refused(await world.call("PUT", `${ROLES}/strong`, rights)), BEYOND);
  deq(refused(await world.call("DELETE", `${ROLES}/strong`, { as })), BEYOND);
  for (const name of ["strong", "operator", "admin", "viewer"]) {
    deq(refused(await give(world, as, name, keeper)), BEYOND);
    deq(refused(await take(world, as, name, other)), BEYOND);
  }
  // An administrator has every right, and yet makes no owner; nor does an owner's key.
  const key = await world.key(owner, SCOPE_LIST);
  for (const caller of [admin.token, key.value]) {
    deq(refused(await give(world, caller, "owner", other)), [403, "FORBIDDEN"]);
    deq(refused(await take(world, caller, "owner", owner)), [403, "FORBIDDEN"]);
  }
  const weak = await world.key(owner, ["system:write", "agents:read"]);
  deq(refused(await give(world, weak.value, "viewer", other)), BEYOND);
  eq((await make(world, keeper, "mine", ["agents:read"])).status, 201);
  eq((await give(world, as, "mine", other)).status, 200);
  deq(await rolesOf(world, owner.token, other), ["operator", "mine"]);
});

Deno.test("roles: one that somebody has is not deleted, and the refusal names who has it", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const person = await world.join(owner, []);
  await make(world, owner, "deployer", ["agents:read"]);
  await give(world, owner.token, "deployer", person);
  const body = { roles: ["deployer"] };
  const invited = await world.call("POST", "/api/v1/invitations", { as: owner.token, body });
  const drop = () => world.call("DELETE", `${ROLES}/deployer`, { as: owner.token });
  const answer = await drop();
  deq(refused(answer), [409, "CONFLICT"]);
  deq(answer.body.error.details.users, [person.userId]);
  deq(answer.body.error.details.invitations, [invited.body.id]);
  await take(world, owner.token, "deployer", person);
  eq((await drop()).status, 409);
  await world.call("DELETE", `/api/v1/invitations/${invited.body.id}`, { as: owner.token });
  eq((await drop()).status, 204);
});

Deno.test("roles: of a concurrent assignment and deletion exactly one succeeds", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const person = await world.join(owner, []);
  for (let n = 0; n < 20; n++) {
    const name = `role ${n}`;
    await make(world, owner, name, ["agents:read"]);
    const [given, deleted] = await Promise.all([
      give(world, owner.token, name, person),
      world.call("DELETE", `${ROLES}/${name}`, { as: owner.token }),
    ]);
    const has = (await rolesOf(world, owner.token, person)).includes(name);
    const there = (await world.call("GET", `${ROLES}/${name}`, { as: owner.token })).status === 200;
    const outcomes = JSON.stringify([given.status, deleted.status, has, there]);
    ok(["[200,409,true,true]", "[404,204,false,false]"].includes(outcomes), outcomes);
    if (has) await take(world, owner.token, name, person);
  }
});

Deno.test("roles: the last owner is neither demoted nor deactivated", async () => {
  const { world, owner } = await open();
  await using _ = world;
  deq(refused(await take(world, owner.token, "owner", owner)), [409, "CONFLICT"]);
  const second = await world.join(owner, []);
  eq((await give(world, owner.token, "owner", second)).status, 200);
  const off = (as: string, id: string) =>
    world.call("POST", `/api/v1/users/${id}/deactivate`, { as });
  eq((await off(second.token, owner.userId)).status, 200);
  // The other one is off, so this one is the last.
  deq(refused(await take(world, second.token, "owner", second)), [409, "CONFLICT"]);
  const on = { as: second.token };
  eq((await world.call("POST", `/api/v1/users/${owner.userId}/activate`, on)).status, 200);
  eq((await take(world, second.token, "owner", second)).status, 200);
  deq(await rolesOf(world, (await logInAgain(world, owner)).token, second), []);
});

Deno.test("roles: of two concurrent removals of the last two owners exactly one succeeds", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const second = await world.join(owner, ["owner"]);
  const off = (as: string, id: string) =>
    world.call("POST", `/api/v1/users/${id}/deactivate`, { as });
  for (let round = 0; round < 8; round++) {
    const statuses = (await Promise.all([
      take(world, owner.token, "owner", second),
      take(world, second.token, "owner", owner),
    ])).map(({ status }) => status);
    eq(statuses.filter((status) => status === 200).length, 1, `round ${round}: ${statuses}`);
    const [winner, loser] = statuses[0] === 200 ? [owner, second] : [second, owner];
    eq((await give(world, winner.token, "owner", loser)).status, 200);
  }
  const pair = [off(owner.token, second.userId), off(second.token, owner.userId)];
  const statuses = (await Promise.all(pair)).map(({ status }) => status);
  eq(statuses.filter((status) => status === 200).length, 1, `${statuses}`);
});

Deno.test("roles: on the host only owners change the installation, whatever a role permits", async () => {
  await using world = await World.open();
  const host = await world.signUp();
  const person = await world.join(host, ["admin"]);
  await make(world, host, "everything", ["all"]);
  await give(world, host.token, "everything", person);
  const { scopes } = (await world.call("GET", "/api/account/info", { as: person.token })).body;
  deq([scopes.includes("system:write"), scopes.length], [false, SCOPE_LIST.length - 1]);
  deq(refused(await make(world, person, "x", [])), BEYOND);
  const shown = await world.call("GET", `${ROLES}/admin`, { as: host.token });
  deq(shown.body.permissions, SCOPE_LIST.filter((scope) => scope !== "system:write"));
  const wrong = await make(world, host, "x", ["agents:read", "system:write"]);
  deq([wrong.status, wrong.body.error.details.issues[0].path], [400, "body.permissions"]);
  const update = { as: host.token, body: { permissions: ["system:write"] } };
  eq((await world.call("PUT", `${ROLES}/everything`, update)).status, 400);
  const guest = await world.signUp();
  eq((await make(world, guest, "x", ["system:write"])).status, 201);
});

Deno.test("roles: roles and people of another organization look missing", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const stranger = await world.signUp();
  await make(world, owner, "deployer", ["agents:read"]);
  const as = stranger.token;
  eq((await world.call("GET", `${ROLES}/deployer`, { as })).status, 404);
  eq((await give(world, as, "deployer", stranger)).status, 404);
  eq((await give(world, as, "viewer", owner)).status, 404);
  eq((await take(world, as, "owner", owner)).status, 404);
  eq((await world.call("GET", `${ROLES}/user/${owner.userId}`, { as })).status, 404);
  // The same name is another role there.
  eq((await make(world, stranger, "deployer", [])).status, 201);
  deq((await world.call("GET", `${ROLES}/deployer`, { as: owner.token })).body.permissions, [
    "agents:read",
  ]);
});

Deno.test("users.list: shows the second factor and the newest sign-in, only to those who manage users", async () => {
  const { world, owner } = await open();
  await using _ = world;
  const viewer = await world.join(owner, ["viewer"]);
  await enrol(world, owner, "password 2");
  world.clock.nowMs += 60_000;
  const signedInMs = world.clock.nowMs;
  const { token } = await logInAgain(world, viewer);
  const listed = async (as: string) => {
    const { body } = await world.call("GET", "/api/v1/users", { as });
    return body.users.map((
      { second_factor, signed_in_at }: { second_factor: unknown; signed_in_at: string },
    ) => [second_factor, signed_in_at && Date.parse(signed_in_at)]);
  };
  deq(await listed(owner.token), [[true, signedInMs - 60_000], [false, signedInMs]]);
  deq(await listed(token), [[null, null], [null, null]]);
  eq(
    (await world.call("DELETE", "/api/v1/console-session?everywhere=true", { as: token })).status,
    204,
  );
  deq((await listed(owner.token))[1], [false, null]);
});
