import { deepStrictEqual as deq, match, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { activate, Overtaken } from "../../core/policies/activate.ts";
import { readWanted } from "../../core/policies/apply.ts";
import { repositories } from "../../kv/records/gitops.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import { asPlanned, forbidding, post, withRepository } from "./git_fixtures.ts";
import { eventsOf } from "../support/linked_agent.ts";
import { rawRows } from "../support/raw_rows.ts";

/** All rows of a store with their versionstamps. */
async function stored(world: World): Promise<Map<string, string>> {
  await world.settle();
  const rows = new Map<string, string>();
  for (const { key, versionstamp } of await rawRows(world.kv)) {
    rows.set(key.join("/"), versionstamp);
  }
  return rows;
}

const actions = (plan: { name: string; action: string }[]) =>
  Object.fromEntries(plan.map(({ name, action }) => [name, action]));

Deno.test("apply: puts the repository's policies in force for commands, with events", async () => {
  await using world = await World.open();
  const { owner, host, apply, get } = await withRepository(world);
  const commit = await host.commit({
    "policies/basics.yaml": forbidding("nmap"),
    "README.md": "x",
  });
  const applied = await apply();
  eq(applied.status, 200, applied.text);
  deq([applied.body.commit, applied.body.changed], [commit, true]);
  deq(actions(applied.body.plan), { basics: "create" });
  const { body: { policies: [policy], version } } = await get("policies");
  eq(version, applied.body.version);
  eq(applied.body.plan[0].policy_id, policy.id);
  deq([policy.name, policy.version, policy.commit], ["basics", "1", commit]);
  const judged = await world.call("POST", "/api/shield/evaluate", {
    as: owner.token,
    body: { commands: ["sudo nmap 10.0.0.1", "uptime"] },
  });
  const [denied, allowed] = judged.body.results;
  deq([denied.verdict, denied.layer, denied.rule_ids[0]], [
    "deny",
    "policy",
    "policy.basics.no-nmap",
  ]);
  eq(allowed.verdict, "allow");

  await host.commit({
    "policies/basics.yaml": forbidding("socat"),
    "policies/more/tools.json": '{ "tools": { "allow": ["uptime"] } }',
  });
  deq(actions((await apply()).body.plan), { basics: "update", tools: "create" });
  await host.commit({ "policies/more/tools.json": '{ "tools": { "allow": ["uptime"] } }' });
  const last = await apply();
  deq(actions(last.body.plan), { basics: "delete", tools: "unchanged" });
  eq((await apply()).body.changed, false);
  const events = await eventsOf(world, owner, policy.id);
  deq(events.map(({ event_type, details }) => [event_type, details["version"]]), [
    ["policy_created", "1"],
    ["policy_updated", "2"],
    ["policy_deleted", "2"],
  ]);
  const { body: { versions } } = await get(`versions?policy_id=${policy.id}`);
  deq(versions.map((one: { version: string }) => one.version), ["2", "1"]);
});

Deno.test("apply: a dry run writes nothing and shows what the apply then does", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  await host.commit({ "policies/a.yaml": forbidding("nmap"), "policies/b.yaml": forbidding("nc") });
  await apply();
  await host.commit({ "policies/a.yaml": forbidding("ssh"), "policies/c.yaml": forbidding("scp") });
  const before = await stored(world);
  const dry = await apply({ dry_run: true, replay: 5 });
  eq(dry.status, 200, dry.text);
  deq(await stored(world), before);
  const done = await apply();
  deq(dry.body.plan, asPlanned(done.body).plan);
  deq(actions(done.body.plan), { a: "update", b: "delete", c: "create" });
  deq([dry.body.version, dry.body.changed], [done.body.version, done.body.changed]);
});

Deno.test("apply: a given commit is applied only while it is the head of the branch", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  const { body: { commit } } = await apply({ dry_run: true });
  await host.commit({ "policies/a.yaml": forbidding("ssh") });
  const before = await stored(world);
  const moved = await apply({ commit });
  deq([moved.status, moved.body.error.code], [409, "CONFLICT"]);
  deq(await stored(world), before);
  const head = moved.body.error.details.commit;
  const done = await apply({ commit: head });
  deq([done.status, done.body.commit, actions(done.body.plan)], [200, head, { a: "create" }]);
  eq((await apply({ commit: "main" })).status, 400);
});

Deno.test("apply: reports errors with file, line and column, and changes nothing", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  const cases = [
    ["rules:\n  - id: X y\n    match: {}\n    verdict: deny\n", 2, 9, "rules.0.id"],
    ["rules:\n  - id: a\n    match:\n      comands: [rm]\n    verdict: deny\n", 4, 7],
    ["rules:\n  - id: a\n    match: {}\n    verdict: perhaps\n", 4, 14, "rules.0.verdict"],
    ["name: a\nname: b\n", 2, 1, ""],
    ["name: [1,\n", 2, 1, ""],
    ["a: &x 1\nname: *x\n", 2, 7, ""],
    [`${forbidding("nmap")}tests:\n  - { command: nmap x, expect: allow }\n`, 6, 5, "tests.0"],
    ["- a\n", 1, 1, ""],
    ["", 1, 1, ""],
  ] as const;
  for (const [text, line, column, path] of cases) {
    await host.commit({ "policies/good.yaml": forbidding("nc"), "policies/x.yaml": text });
    const before = await stored(world);
    const answer = await apply();
    eq(answer.status, 400, `${text} ${answer.text}`);
    const [issue] = answer.body.error.details.issues;
    deq([issue.file, issue.line, issue.column], ["policies/x.yaml", line, column], answer.text);
    if (path !== undefined) eq(issue.path, path, answer.text);
    deq(await stored(world), before);
  }
});

Deno.test("apply: answers 404 for an unregistered repository, and a specific error for each failure of a host", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  const other = await apply({ repo_url: "https://git.example.com/acme/other.git" });
  deq([other.status, other.body.error.code], [404, "NOT_FOUND"]);
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  // Any spelling of the address finds the same repository.
  eq((await apply({ repo_url: "https://git.example.com/acme/policies/" })).status, 200);
  const wrong = async (input: Record<string, unknown>) => {
    const { status, body } = await apply(input);
    return [status, body.error.details.git, body.error.details.issues?.[0].path];
  };
  deq(await wrong({ branch: "next" }), [400, "missing_branch", "body.branch"]);
  deq(await wrong({ policy_path: "nowhere" }), [400, "missing_path", "body.policy_path"]);
  host.broken = 401;
  deq(await wrong({}), [400, "credentials", "body.repo_url"]);
  host.broken = 502;
  deq(await wrong({}), [503, "host", undefined]);
  host.broken = { status: 200, truncated: true, bytes: new Uint8Array(4 * 1024 * 1024) };
  deq(await wrong({}), [400, "too_large", "body.repo_url"]);
});

Deno.test("apply: agents receive the policies that concern them, and confirm them", async () => {
  await using world = await World.open();
  const { owner, host, apply } = await withRepository(world);
  const key = await world.key(owner, ["agents:admin"]);
  const web = await ScriptedAgent.connect(world, key.value, {
    name: "web",
    labels: { env: "prod" },
  });
  const lab = await ScriptedAgent.connect(world, key.value, {
    name: "lab",
    labels: { env: "lab" },
  });
  const held = async (agent: ScriptedAgent) => {
    await world.settle();
    const as = owner.token;
    return (await world.call("GET", `/api/v1/agents/${agent.id}`, { as })).body.policy_version;
  };
  await host.commit({
    "policies/prod.yaml": forbidding("nmap", "agents: { labels: { env: prod } }\n"),
  });
  await apply();
  const version = await held(web);
  ok(/^[0-9a-f]{16}$/.test(version));
  eq(await held(lab), null);
  eq(lab.received.filter(({ type }) => type === "policy").length, 0);
  const [frame] = web.received.filter((one) => one.type === "policy");
  deq([frame?.policy_version, frame?.policies.map((each) => each["name"])], [version, ["prod"]]);
  await host.commit({ "policies/all.yaml": forbidding("nmap") });
  await apply();
  ok(await held(web) !== version);
  eq(await held(lab), await held(web));
  await host.commit({ "policies/README.md": "no policies any more" });
  await apply();
  deq([await held(web), await held(lab)], [null, null]);
  const confirmed = (await eventsOf(world, owner, web.id))
    .filter(({ event_type }) => event_type === "policy_confirmed");
  eq(confirmed.length, 3);
});

Deno.test("apply: replay shows which of the last commands would get another verdict", async () => {
  await using world = await World.open();
  const { owner, host, apply } = await withRepository(world);
  const key = await world.key(owner, ["agents:admin", "agents:write"]);
  const agent = await ScriptedAgent.connect(world, key.value);
  for (const command of ["uptime", "nmap localhost", "df"]) {
    const query = new URLSearchParams({ command });
    await world.call("GET", `/api/exec/${agent.id}?${query}`, { as: owner.token });
  }
  await host.commit({ "policies/a.yaml": forbidding("df") });
  const { body: { replay } } = await apply({ dry_run: true, replay: 10 });
  eq(replay.replayed, 3);
  deq(
    replay.changed.map((one: Record<string, unknown>) => [one.command, one.before, one.verdict]),
    [
      ["df", "allow", "deny"],
    ],
  );
});

Deno.test("apply: replaces the largest set of policies by another one in one commit", async () => {
  await using world = await World.open();
  const url = `https://git.example.com/${"p".repeat(170)}.git`;
  const { owner, host, get } = await withRepository(world, { url }, undefined, url);
  const { value } = await world.key(owner, ["policy:write"]);
  const apply = () =>
    world.call("POST", "/api/v1/gitops/apply", {
      as: value,
      body: { repo_url: url, branch: "main", policy_path: "" },
    });
  const files = (letter: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => {
        const name = `${letter}${n}`.padEnd(64, "x");
        return [`${name}.yaml`, forbidding("nmap", `description: ${letter.repeat(800)}\n`)];
      }),
    );
  await host.commit(files("a", 32));
  eq((await apply()).status, 200);
  await host.commit(files("b", 32));
  const exchanged = await apply();
  eq(exchanged.status, 200, exchanged.text);
  eq(exchanged.body.plan.length, 64);
  eq((await get("policies?limit=200")).body.pagination.total, 32);
  await host.commit({ ...files("b", 32), "c.yml": "{}" });
  const beyond = await apply();
  deq([beyond.status, beyond.body.error.details.git], [400, "too_large"]);
});

Deno.test("apply: a sync does not undo a newer apply", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { sync_seconds: 60, policy_path: "policies" });
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await git.apply();
  await git.host.commit({ "policies/a.yaml": forbidding("nc") });
  const tenant = { org: git.owner.org, space: "live" } as const;
  const looked = (await world.app.store.get(repositories, tenant, git.repositoryId))!;
  const older = await readWanted(world.app, tenant, looked, {
    branch: "main",
    path: "policies",
  });
  await git.host.commit({ "policies/a.yaml": forbidding("ssh") });
  const { body: { version } } = await git.apply();
  const relay = { ...world.app, app: world.app, actor: { id: "relay" } };
  await rejects(activate(relay, tenant, looked, older), Overtaken);
  eq((await git.get("policies")).body.version, version);
});

Deno.test("apply: refuses sets that do not fit into the store, in a dry run too, and accepts those that do", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  // A text with one character beyond Latin-1 takes two bytes for each of its characters.
  const policyOf = (chars: number) => {
    const tests = [4_000, 4_000, 4_000, 4_000, 4_000, 4_000, 4_000, chars].map((length) => ({
      command: `echo 漢${"a".repeat(length)}`,
      expect: "allow",
    }));
    return JSON.stringify({ name: "a", tests });
  };
  const long = Array.from({ length: 5 }, () => `漢${"d".repeat(190)}`).join("/");
  const refused = async (files: Readonly<Record<string, string>>, message: RegExp) => {
    await host.commit(files);
    for (const dry_run of [true, false]) {
      const { status, text } = await apply({ dry_run });
      eq(status, 400, text.slice(0, 200));
      match(text, message);
    }
  };
  await refused({ "policies/a.json": policyOf(3_000) }, /a.json:1:1: takes \d+ bytes/);
  const names = Array.from({ length: 32 }, (_, n) => `policies/${long}/${n}.yaml`);
  await refused(
    Object.fromEntries(names.map((name) => [name, "rules: []"])),
    /names, paths and labels of all policies together are too long/,
  );
  await host.commit({ [`policies/${long}/a.json`]: policyOf(2_400) });
  const taken = await apply();
  eq(taken.status, 200, taken.text);
});

Deno.test("policies: mode, tools and retention apply to the agents that they concern", async () => {
  await using world = await World.open();
  const { owner, host, apply } = await withRepository(world);
  const key = await world.key(owner, ["agents:admin", "agents:write"]);
  const web = await ScriptedAgent.connect(world, key.value, {
    name: "web",
    labels: { env: "prod" },
  });
  const lab = await ScriptedAgent.connect(world, key.value, {
    name: "lab",
    labels: { env: "lab" },
  });
  await host.commit({
    "policies/prod.yaml":
      "agents: { labels: { env: prod } }\ntools: { allow: [up*, cat] }\noutput: { retention_days: 1 }\n",
    "policies/lab.yaml": "agents: { labels: { env: lab } }\nmode: observe\n",
  });
  eq((await apply()).status, 200);
  const exec = (agent: ScriptedAgent, command: string) =>
    world.call("GET", `/api/exec/${agent.id}?${new URLSearchParams({ command })}`, {
      as: owner.token,
    });
  eq((await exec(web, "cat x | sed s/a/b/")).status, 403);
  eq((await exec(web, "$TOOL x")).status, 403);
  eq((await exec(lab, "rm -rf /")).status, 200);
  const ran = await exec(web, "uptime");
  eq(ran.status, 200, ran.text);
  const path = (agent: ScriptedAgent, id: string) => `/api/v1/agents/${agent.id}/commands/${id}`;
  const late = await exec(lab, "uptime");
  world.clock.advance(25 * 60 * 60 * 1000);
  const as = (await world.call("POST", "/api/v1/login", {
    body: { email: owner.email, password: "password 1" },
  })).body.token;
  eq((await world.call("GET", path(web, ran.body.command_id), { as })).status, 404);
  eq((await world.call("GET", path(lab, late.body.command_id), { as })).status, 200);
});

Deno.test("repositories.create: allows fifty in a space", async () => {
  await using world = await World.open();
  const { owner } = await withRepository(world);
  const register = async (n: number) =>
    (await post(world, owner, "repos", {
      name: `r${n}`,
      provider: "generic",
      url: `https://git.example.com/acme/r${n}`,
    })).status;
  for (let n = 1; n < 50; n++) eq(await register(n), 201);
  eq(await register(50), 409);
});

Deno.test("AwaitedFetches.run: allows three fetches of one organization and eight in total", async () => {
  await using world = await World.open();
  const end = Promise.withResolvers<void>();
  const fetches: Promise<void>[] = [];
  const begin = (org: string) => {
    const fetching = world.app.fetches.run({ org }, () => end.promise);
    fetches.push(fetching.catch(() => {}));
    return fetching;
  };
  for (const org of ["a", "a", "a", "b", "b", "b", "c"]) begin(org);
  await rejects(begin("a"), { code: "UNAVAILABLE" });
  begin("c");
  await rejects(begin("d"), { code: "UNAVAILABLE" });
  end.resolve();
  await Promise.all(fetches);
  await begin("a");
});
