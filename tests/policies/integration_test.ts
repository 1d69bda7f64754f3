import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { installed, shown } from "../delivery/integrations/fixtures.ts";
import { World } from "../support/world.ts";
import { forbidding, withRepository } from "./git_fixtures.ts";

const GITEA = { token: "an-integrations-token", url: "https://git.example.com" };
const basic = (text: string) => `Basic ${btoa(text)}`;

/** The credentials sent since, by host. */
const credentials = (world: World, since: number) => [
  ...new Set(
    world.network.sent.slice(since).map(({ url, headers }) =>
      `${new URL(url).origin} ${headers["authorization"] ?? "none"}`
    ),
  ),
];

Deno.test("apply: a repository without credentials uses the organization's integration for its host", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  const id = await installed(world, git.owner, "gitlab", GITEA);
  const from = world.network.sent.length;
  eq((await git.apply()).status, 200);
  const expected = [`https://git.example.com ${basic("oauth2:an-integrations-token")}`];
  deq(credentials(world, from), expected);
  eq((await shown(world, git.owner, id)).last_used_at, new Date(world.clock.nowMs).toISOString());
  eq((await git.get(`repos/${git.repositoryId}`)).body.has_credentials, false);
});

Deno.test("syncs: use the organization's integration too", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await installed(world, owner, "gitlab", GITEA);
  const from = world.network.sent.length;
  const git = await withRepository(world, { sync_seconds: 60 }, owner);
  await git.host.commit({ "a.yaml": forbidding("nmap") });
  await world.advance(3 * 60_000);
  eq((await git.get("policies")).body.policies.length, 1);
  const expected = [`https://git.example.com ${basic("oauth2:an-integrations-token")}`];
  deq(credentials(world, from), expected);
});

Deno.test("apply: never uses an integration's credentials for another host, port or organization, over http, or in the test space", async () => {
  const cases: readonly (readonly [name: string, url: string, integration: string])[] = [
    ["another host", "https://git.example.org/acme/policies.git", "https://git.example.com"],
    ["a host below", "https://x.git.example.com/acme/policies.git", "https://git.example.com"],
    ["another port", "https://git.example.com:8443/acme/policies.git", "https://git.example.com"],
    ["plain http", "http://git.example.com/acme/policies.git", "https://git.example.com"],
  ];
  for (const [name, url, integration] of cases) {
    await using world = await World.open({ config: { outbound: { allow_private_targets: true } } });
    const git = await withRepository(world, {}, undefined, url);
    await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
    await installed(world, git.owner, "gitlab", { ...GITEA, url: integration });
    const from = world.network.sent.length;
    eq((await git.apply()).status, 200);
    deq([name, ...credentials(world, from)], [name, `${new URL(url).origin} none`]);
  }
  await using world = await World.open();
  const git = await withRepository(world);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await installed(world, await world.signUp(), "gitlab", GITEA);
  const from = world.network.sent.length;
  eq((await git.apply()).status, 200);
  deq(credentials(world, from), ["https://git.example.com none"]);
  await installed(world, git.owner, "gitlab", GITEA);
  const headers = { "x-relay-space": "test" };
  const as = git.owner.token;
  const body = { name: "policies", provider: "gitlab", url: git.host.url };
  await world.call("POST", "/api/v1/gitops/repos", { as, headers, body });
  const tried = world.network.sent.length;
  const input = { repo_url: git.host.url, branch: "main", policy_path: "policies" };
  const inTest = await world.call("POST", "/api/v1/gitops/apply", { as, headers, body: input });
  eq(inTest.status, 200, inTest.text);
  deq(credentials(world, tried), ["https://git.example.com none"]);
});

Deno.test("apply: prefers a repository's own credentials to the integration's", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { token: "its own" });
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await installed(world, git.owner, "gitlab", GITEA);
  const from = world.network.sent.length;
  eq((await git.apply()).status, 200);
  deq(credentials(world, from), [`https://git.example.com ${basic("relay:its own")}`]);
});

Deno.test("apply: a dry run with an integration's credentials writes nothing", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  const id = await installed(world, git.owner, "gitlab", GITEA);
  eq((await git.apply({ dry_run: true })).status, 200);
  eq((await shown(world, git.owner, id)).last_used_at, null);
});
