import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { repositoryCredentialOf } from "../../core/delivery/integrations/repository.ts";
import { inForce, withRepository } from "../policies/git_fixtures.ts";
import { installed, sentTo } from "../delivery/integrations/fixtures.ts";
import { type Account, World } from "../support/world.ts";
import { alertsOf, makeIngestToken } from "../agents/commands/ingest_fixtures.ts";
import { setUser } from "./keys/key_fixtures.ts";
import { happen } from "../events/stream_fixtures.ts";

const MINUTE_MS = 60_000;

interface Here {
  readonly owner: Account;
  /** An administrator who sets things up. */
  readonly maker: Account;
}

async function together(world: World): Promise<Here> {
  await world.signUp(); // the host, whose administrators have fewer rights
  const owner = await world.signUp();
  return { owner, maker: await world.join(owner, ["admin"]) };
}

const call = async (world: World, as: Account, method: string, path: string, body?: unknown) =>
  await world.call(method, path, { as: as.token, ...body !== undefined && { body } });

/** Everything of which the same is true: how it is made, where it is, and what it acts with. */
const KINDS: readonly {
  readonly name: string;
  readonly path: string;
  readonly resource: string;
  readonly missing: readonly string[];
  readonly make: (world: World, maker: Account) => Promise<string>;
  /** A role with the right of the endpoint and not all rights that it takes to adopt. */
  readonly short: readonly string[] | null;
}[] = [
  {
    name: "a repository",
    path: "/api/v1/gitops/repos",
    resource: "repository",
    missing: ["policy:write"],
    make: async (world, maker) => (await withRepository(world, {}, maker)).repositoryId,
    short: null,
  },
  {
    name: "a webhook",
    path: "/api/v1/webhooks",
    resource: "webhook",
    missing: ["approvals:read", "policy:read"],
    make: async (world, maker) => {
      const body = {
        name: "hook",
        url: "https://hooks.example.com/a",
        events: ["approval_requested", "policy_updated"],
      };
      const made = await call(world, maker, "POST", "/api/v1/webhooks", body);
      return made.body.id;
    },
    short: ["system:read", "system:write"],
  },
  {
    name: "an integration",
    path: "/api/integrations",
    resource: "integration",
    missing: ["compliance:read"],
    make: (world, maker) =>
      installed(world, maker, "webhook", {
        url: "https://told.example.com/a",
        secret: "sixteen-characters",
        topics: ["reports"],
      }),
    short: ["system:read", "system:write"],
  },
  {
    name: "an ingest token",
    path: "/api/v1/ingest-tokens",
    resource: "ingest_token",
    missing: ["system:write", "approvals:write"],
    make: async (world, maker) => (await makeIngestToken(world, maker, "telegram")).id,
    short: ["system:read", "system:write"],
  },
];

for (const { name, path, resource, missing, make, short } of KINDS) {
  Deno.test(`adopt: ${name} is suspended with its maker and acts for whoever adopts it`, async () => {
    await using world = await World.open();
    const { owner, maker } = await together(world);
    const other = await world.join(owner, ["admin"]);
    const id = await make(world, maker);
    const shown = async () => {
      const { body } = await call(world, owner, "GET", path);
      const list = Object.values(body).find(Array.isArray) as { id: string }[];
      const { acts_for, suspended } = list.find((one) => one.id === id)! as never as {
        acts_for: string;
        suspended: { reason: string; missing: string[] } | null;
      };
      return { acts_for, suspended };
    };
    const adopt = (as: Account) => call(world, as, "POST", `${path}/${id}/adopt`);

    deq(await shown(), { acts_for: maker.userId, suspended: null });
    eq((await adopt(other)).status, 409, "it is not suspended");
    await call(world, owner, "POST", `/api/v1/users/${maker.userId}/deactivate`);
    const suspended = { person: maker.userId, reason: "inactive", missing };
    deq(await shown(), { acts_for: maker.userId, suspended });
    await world.settle();
    const { body: { notifications } } = await call(
      world,
      owner,
      "GET",
      "/api/account/notifications",
    );
    deq(
      notifications.map((one: Record<string, unknown>) => [
        one["type"],
        one["resource_type"],
        one["resource_id"],
      ]),
      [["standing_suspended", resource, id]],
    );

    if (short !== null) {
      const body = { name: "clerk", permissions: short };
      await call(world, owner, "POST", "/api/v1/roles", body);
      const clerk = await world.join(owner, ["clerk"]);
      eq((await adopt(clerk)).body.error.code, "INSUFFICIENT_SCOPES");
    }
    const elsewhere = await world.signUp();
    eq((await adopt(elsewhere)).status, 404);
    deq(await shown(), { acts_for: maker.userId, suspended });

    const adopted = await adopt(other);
    deq([adopted.status, adopted.body.acts_for, adopted.body.suspended], [200, other.userId, null]);
    deq([adopted.body.created_with.kind], ["session"]);
    deq(await shown(), { acts_for: other.userId, suspended: null });
    eq((await adopt(owner)).status, 409, "it acts for somebody again");
    const { body: { events } } = await call(
      world,
      owner,
      "GET",
      `/api/audit?resource_id=${id}&event_type=standing_adopted`,
    );
    deq([events[0].actor, events[0].details.acted_for, events[0].details.acts_for], [
      other.userId,
      maker.userId,
      other.userId,
    ]);
    // It follows the one who adopted it, and its maker is nobody any more.
    await call(world, owner, "POST", `/api/v1/users/${maker.userId}/activate`);
    await call(world, owner, "POST", `/api/v1/users/${other.userId}/deactivate`);
    eq((await shown()).suspended?.reason, "inactive");
  });
}

Deno.test("adopt: a synced repository is synced again, with the rights of the adopter", async () => {
  await using world = await World.open();
  const { owner, maker } = await together(world);
  const git = await withRepository(world, { sync_seconds: 60 }, maker);
  const own = {
    ...git,
    get: (path: string) => call(world, owner, "GET", `/api/v1/gitops/${path}`),
  };
  await call(world, owner, "POST", `/api/v1/users/${maker.userId}/deactivate`);
  await git.host.commit({ "a.yaml": "mode: observe\n" });
  await world.advance(5 * MINUTE_MS);
  deq(await inForce(own), []);
  await call(world, owner, "POST", `/api/v1/gitops/repos/${git.repositoryId}/adopt`);
  await world.settle();
  deq(await inForce(own), [["a", "1", false]]);
  const { body: { versions: [version] } } = await own.get("versions");
  eq(version.on_behalf_of, owner.userId);
});

Deno.test("ingest tokens: one of a deactivated or demoted maker accepts nothing, an adopted one only its new value", async () => {
  await using world = await World.open();
  const { owner, maker } = await together(world);
  const old = await makeIngestToken(world, maker, "generic");
  let n = 0;
  const send = async (token: string) => {
    const body = { event: `disk ${++n} is full`, payload: {} };
    const headers = { authorization: `Bearer ${token}` };
    const answer = await world.call("POST", `/api/webhooks/generic-alert`, { body, headers });
    await world.settle();
    return [answer.text, (await alertsOf(world, owner)).length];
  };
  const [accepted, first] = await send(old.token);
  eq(first, 1);
  for (const change of [{ roles: ["viewer"] }, { roles: ["admin"], active: false }]) {
    await setUser(world, maker, change);
    deq(await send(old.token), [accepted, 1]);
  }
  await setUser(world, maker, { active: true });
  deq(await send(old.token), [accepted, 2]);
  await call(world, owner, "POST", `/api/v1/users/${maker.userId}/deactivate`);
  const adopted = await call(world, owner, "POST", `/api/v1/ingest-tokens/${old.id}/adopt`);
  deq(await send(old.token), [accepted, 2]);
  deq(await send(adopted.body.token), [accepted, 3]);
});

Deno.test("integrations: one whose installer lost the right lends its credentials to nobody", async () => {
  await using world = await World.open();
  const { owner, maker } = await together(world);
  await installed(world, maker, "github", { token: "ghp_sealed" });
  const tenant = { org: owner.org, space: "live" } as const;
  const lent = async () =>
    (await repositoryCredentialOf(world.app, tenant, "github.com"))?.password;
  eq(await lent(), "ghp_sealed");
  for (const change of [{ roles: ["operator"] }, { roles: ["admin"], active: false }]) {
    await setUser(world, maker, change);
    eq(await lent(), undefined);
  }
  await setUser(world, maker, { active: true });
  eq(await lent(), "ghp_sealed");
});

Deno.test("adopt: a webhook and an integration deliver with the rights of the adopter", async () => {
  await using world = await World.open();
  const { owner, maker } = await together(world);
  const urls = ["https://hooks.example.com/", "https://told.example.com/"];
  const hook = { name: "hook", url: urls[0], events: ["command_denied"] };
  const { body: { id } } = await call(world, maker, "POST", "/api/v1/webhooks", hook);
  const config = { url: urls[1], secret: "sixteen-characters", topics: ["alerts"] };
  const integrationId = await installed(world, maker, "webhook", config);
  const told = async () => {
    await happen(world, owner, "command_denied");
    await world.settle();
    return urls.map((url) => sentTo(world, url).length);
  };
  await setUser(world, maker, { active: false });
  deq(await told(), [0, 0]);
  for (const path of [`v1/webhooks/${id}`, `integrations/${integrationId}`]) {
    eq((await call(world, owner, "POST", `/api/${path}/adopt`)).status, 200);
  }
  deq(await told(), [1, 1]);
});
