import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { forbidding, holdFetches, withRepository } from "../policies/git_fixtures.ts";
import { back, begin, seen, setUp } from "../delivery/integrations/oauth_fixtures.ts";
import { type Account, World } from "../support/world.ts";

/** What ends the rights of whoever asked, while what they asked for is under way. */
const ENDS: Readonly<
  Record<string, (world: World, owner: Account, who: Account) => Promise<unknown>>
> = {
  "is demoted": (world, { token: as }, { userId: user_id }) =>
    world.call("POST", "/api/v1/roles/admin/revoke", { as, body: { user_id } }),
  "is switched off": (world, { token: as }, { userId }) =>
    world.call("POST", `/api/v1/users/${userId}/deactivate`, { as }),
};

for (const [how, end] of Object.entries(ENDS)) {
  Deno.test(`apply: changes no policy when the caller ${how} during the fetch`, async () => {
    await using world = await World.open();
    await world.signUp(); // the host, whose admins are no administrators
    const owner = await world.signUp();
    const admin = await world.join(owner, ["admin"]);
    const git = await withRepository(world, {}, admin);
    await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
    const [fetch] = holdFetches(world, git.host, 1);
    const slow = git.apply();
    await fetch!.asked;
    await end(world, owner, admin);
    fetch!.go();
    const { status, body } = await slow;
    deq([status, body.error?.code], [403, "INSUFFICIENT_SCOPES"]);
    const { token: as } = owner;
    const { body: { policies } } = await world.call("GET", "/api/v1/gitops/policies", { as });
    deq(policies, []);
    const denied = await world.call("GET", "/api/audit?event_type=access_denied", { as });
    eq(denied.body.events[0].actor, admin.userId);
  });

  Deno.test(`oauth: connects nothing and revokes the new token when the caller ${how} while the provider answers`, async () => {
    await using world = await World.open();
    await world.signUp(); // the host, whose admins are no administrators
    const here = await setUp(world);
    const admin = await world.join(here.owner, ["admin"]);
    world.network.reply = async (request) => {
      const reply = await here.provider.reply(request);
      if (request.url.endsWith("/token")) await end(world, here.owner, admin);
      return reply;
    };
    const begun = await begin(world, here, admin.token);
    const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
    deq([answer.status, answer.body.error?.code], [403, "INSUFFICIENT_SCOPES"]);
    await world.settle();
    deq(here.provider.alive, []);
    eq((await seen(world, here)).status, "pending");
  });
}

Deno.test("oauth: the old value of a key finishes what it began within its grace, and nothing after", async () => {
  await using world = await World.open();
  for (const [grace_period_hours, expected] of [[24, 200], [0, 401]]) {
    for (const way of ["value", "cookie"]) {
      const here = await setUp(world);
      const key = await world.key(here.owner, ["system:read", "system:write"]);
      const begun = await begin(world, here, key.value);
      const path = `/api/v1/api-keys/${key.id}/rotate`;
      const body = { grace_period_hours };
      eq((await world.call("POST", path, { as: here.owner.token, body })).status, 200);
      const by = way === "value" ? { as: key.value } : { cookie: begun.cookie };
      const answer = await back(world, here.provider.consent(begun.authorize_url), by);
      eq(answer.status, expected, way);
      eq((await seen(world, here)).status, expected === 200 ? "active" : "pending");
    }
  }
});
