import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import { users } from "../../kv/records/user.ts";
import type { Route } from "../../routes/call/route.ts";
import { routes } from "../../routes/index.ts";
import { holdBody } from "../support/held.ts";
import { type Answer, World } from "../support/world.ts";
import {
  bodyOf,
  furnish,
  guarded,
  type Ids,
  MISSING,
  pathWith,
  queryOf,
  stored,
} from "./access_world.ts";

const HOUR_MS = 60 * 60 * 1000;

/** Calls every guarded route with a credential; all must be 401 for this reason, and change nothing. */
async function allRefused(world: World, as: string, ids: Ids, code: string, reason: string) {
  const before = await stored(world);
  for (const route of guarded) {
    const path = (pathWith(route, ids) ?? route.path) + queryOf(route);
    const { status, body } = await world.call(route.method, path, { as, body: bodyOf(route) });
    deq(
      [route.id, status, body.error.code, body.error.details.reason],
      [route.id, 401, code, reason],
    );
  }
  deq(await stored(world), before);
}

/** A host, and a guest with one of everything, a member with all rights, and their keys. */
async function furnished() {
  const world = await World.open();
  const host = await world.signUp();
  const guest = await world.signUp();
  const ids = await furnish(world, guest);
  const member = await world.join(guest, ["owner"]);
  const key = await world.key(guest, SCOPE_LIST, { expires_days: 1 });
  const ofMember = await world.key(member, SCOPE_LIST);
  return { world, host, guest, member, ids, key, ofMember };
}

Deno.test("access: every path parameter has an id of another organization and an unknown id to test with", async () => {
  const { world, ids } = await furnished();
  await using _ = world;
  for (const some of [ids, MISSING]) {
    const bare = routes.filter((route) => route.path.includes("{"))
      .filter((route) => pathWith(route, some)?.includes("{") ?? true);
    deq(bare.map(({ id }) => id), []);
  }
  ok(Object.values(ids).every((id) => typeof id === "string" && id.length > 0));
});

Deno.test("access: a deactivated account can call nothing, with a session or a key", async () => {
  const { world, host, guest, ids, key } = await furnished();
  await using _ = world;
  const path = `/api/admin/accounts/${guest.org}/toggle`;
  const off = await world.call("POST", path, { as: host.token, body: { active: false } });
  eq(off.status, 200);
  await world.advance(1000);
  await allRefused(world, guest.token, ids, "INVALID_TOKEN", "inactive");
  await allRefused(world, key.value, ids, "INVALID_API_KEY", "inactive");
});

Deno.test("access: a deactivated user can call nothing, with a session or a key", async () => {
  const { world, guest, member, ids, ofMember } = await furnished();
  await using _ = world;
  const tenant = { org: guest.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const user = await tx.get(users, tenant, member.userId);
    tx.put(users, tenant, { ...user!, active: false });
  });
  await allRefused(world, member.token, ids, "INVALID_TOKEN", "inactive");
  await allRefused(world, ofMember.value, ids, "INVALID_API_KEY", "inactive");
});

Deno.test("access: an expired credential can call nothing", async () => {
  const { world, guest, ids, key } = await furnished();
  await using _ = world;
  world.clock.nowMs += HOUR_MS;
  await world.settle();
  await allRefused(world, guest.token, ids, "INVALID_TOKEN", "expired");
  world.clock.nowMs += 24 * HOUR_MS;
  await world.settle();
  await allRefused(world, key.value, ids, "INVALID_API_KEY", "expired");
});

Deno.test("access: a revoked key can call nothing", async () => {
  const { world, guest, ids, key } = await furnished();
  await using _ = world;
  const path = `/api/v1/api-keys/${key.id}/revoke`;
  eq((await world.call("POST", path, { as: guest.token })).status, 200);
  await allRefused(world, key.value, ids, "INVALID_API_KEY", "revoked");
});

/** Sends each call with a body that is held back until `meanwhile` is over; the answers, read. */
async function heldBack(
  world: World,
  calls: readonly (readonly [route: Route, path: string, as: string, body?: unknown])[],
  meanwhile: () => Promise<unknown>,
): Promise<Pick<Answer, "status" | "body">[]> {
  const held = await Promise.all(calls.map(([{ method }, path, as, body = {}]) => {
    const headers = { authorization: `Bearer ${as}`, "content-type": "application/json" };
    const init = { method, headers, body: JSON.stringify(body) };
    return holdBody(new Request(`http://localhost${path}`, init));
  }));
  const answers = held.map(({ request }) => world.send(request));
  await Promise.all(held.map(({ waiting }) => waiting));
  await meanwhile();
  for (const { release } of held) release();
  return await Promise.all(
    answers.map(async (answer) => ({
      status: (await answer).status,
      body: await (await answer).json(),
    })),
  );
}

Deno.test("access: rights that end while a body is held back do not count, on any route", async () => {
  const { world, guest, member, ids, key, ofMember } = await furnished();
  await using _ = world;
  const taking = guarded.filter((route) =>
    route.body?.safeParse(bodyOf(route)).success && !("host" in route.access)
  );
  ok(taking.length > 20);
  const bearers = [
    [member.token, "INVALID_TOKEN", "ended"],
    [ofMember.value, "INVALID_API_KEY", "inactive"],
    [key.value, "INVALID_API_KEY", "revoked"],
  ] as const;
  const tries = bearers.flatMap((bearer) => taking.map((route) => [route, bearer] as const));
  const calls = tries.map(([route, [as]]) =>
    [route, (pathWith(route, ids) ?? route.path) + queryOf(route), as, bodyOf(route)] as const
  );
  let before = new Map<string, string>();
  const answers = await heldBack(world, calls, async () => {
    const as = guest.token;
    const off = await world.call("POST", `/api/v1/users/${member.userId}/deactivate`, { as });
    const revoked = await world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, { as });
    deq([off.status, revoked.status], [200, 200]);
    before = await stored(world);
  });
  for (const [n, { status, body: { error } }] of answers.entries()) {
    const [route, [, code, reason]] = tries[n]!;
    deq([route.id, status, error.code, error.details.reason], [route.id, 401, code, reason]);
  }
  deq(await stored(world), before);
});

Deno.test("access: the refusal for a right that ended while a body was held back is recorded once", async () => {
  const { world, guest, member, ofMember } = await furnished();
  await using _ = world;
  const invites = guarded.find(({ id }) => id === "invitations.create")!;
  const calls = [member.token, ofMember.value].map((as) => [invites, invites.path, as] as const);
  const answers = await heldBack(world, calls, async () => {
    const path = "/api/v1/roles/viewer/assign", body = { user_id: member.userId };
    eq((await world.call("POST", path, { as: guest.token, body })).status, 200);
    const owner = "/api/v1/roles/owner/revoke";
    eq((await world.call("POST", owner, { as: guest.token, body })).status, 200);
  });
  for (const { status, body: { error } } of answers) {
    deq([status, error.code, error.details.required], [403, "INSUFFICIENT_SCOPES", [
      "system:write",
    ]]);
  }
  const rows = (await world.trail(guest)).slice(-3).sort();
  deq(rows, ["access_denied", "access_denied", "api_key_used"]);
});

Deno.test("access: a test key gets the 404 of a missing resource for live data, and changes nothing", async () => {
  const { world, guest, ids } = await furnished();
  await using _ = world;
  const { value: as } = await world.key(guest, SCOPE_LIST, { type: "test" });
  const before = await stored(world);
  let compared = 0;
  for (const route of guarded) {
    const [live, missing] = [pathWith(route, ids), pathWith(route, MISSING)];
    if (live === null || missing === null) continue;
    const call = { as, body: bodyOf(route) };
    const seen = await world.call(route.method, live + queryOf(route), call);
    const gone = await world.call(route.method, missing + queryOf(route), call);
    eq(seen.status, route.liveOnly ? 403 : 404, `${route.id} answered ${seen.text}`);
    for (const answer of [seen, gone]) delete answer.body.error.details.request_id;
    deq([route.id, seen.body], [route.id, gone.body]);
    compared++;
  }
  ok(compared > 20);
  deq(await stored(world), before);
});
