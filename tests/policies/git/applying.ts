import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type Client, clientOf } from "../../clients/status_client.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../../support/processes.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { type GitServer, type Repository, startGitServer } from "./git_server.ts";

const SECRET = "a secret of the hook";
const PUSHES = 5;

interface Setting {
  readonly server: GitServer;
  readonly repository: Repository;
  readonly anonymous: Client;
  readonly owner: Client;
  /** The policies that the connected agent holds, as the relay shows it. */
  held(): Promise<string | null>;
  readonly stateDir: string;
}

/** A Git server, a relay and an agent, each in a process of its own. */
async function withAgent(use: (setting: Setting) => Promise<void>): Promise<void> {
  await using server = await startGitServer();
  await withFolder(async (folder) => {
    const repository = await server.create("rules");
    const { relay, url } = await startRelayProcess({
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ ...NO_LIMITS, outbound: { allow_private_targets: true } }),
    });
    try {
      const anonymous = clientOf(url);
      const owner = clientOf(url, await signUpOwner(anonymous));
      const stateDir = `${folder}/agent`;
      const agent = startMain(["agent", "--url", url, "--state", stateDir], {
        RELAY_TOKEN: await makeKey(owner, ["agents:admin"]),
      });
      try {
        const [, id] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
        const held = async () =>
          (await owner<{ policy_version: string | null }>("GET", `/api/v1/agents/${id}`)).body
            .policy_version;
        await use({ server, repository, anonymous, owner, held, stateDir });
      } finally {
        eq((await agent.stop()).code, 0);
      }
    } finally {
      eq((await relay.stop()).code, 0);
    }
  });
}

const policy = (program: string) =>
  `rules:\n  - id: forbidden\n    match: { commands: [${program}] }\n    verdict: deny\n`;

Deno.test("gitops: each signed push reaches a connected agent, which confirms it", async () => {
  await withAgent(async ({ server, repository, anonymous, owner, held, stateDir }) => {
    server.requireBasic("x-access-token", "s3cret");
    const made = await owner("POST", "/api/v1/gitops/repos", {
      name: "rules",
      provider: "github",
      url: repository.url,
      token: "s3cret",
      webhook_secret: SECRET,
    });
    eq(made.status, 201);
    let version = await held();
    eq(version, null);
    const took: number[] = [];
    for (let n = 0; n < PUSHES; n++) {
      const commit = await repository.push("main", { "a.yaml": policy(`tool${n}`) });
      const started = performance.now();
      const body = {
        ref: "refs/heads/main",
        after: commit,
        repository: { clone_url: repository.url },
      };
      const mac = createHmac("sha256", SECRET).update(JSON.stringify(body)).digest("hex");
      const heard = await anonymous("POST", "/api/v1/gitops/webhook", body, {
        "x-github-event": "push",
        "x-github-delivery": commit,
        "x-hub-signature-256": `sha256=${mac}`,
      });
      eq(heard.status, 202);
      const before: string | null = version;
      while (version === before) version = await held();
      took.push(performance.now() - started);
      const file = JSON.parse(await Deno.readTextFile(`${stateDir}/policies.json`));
      deq(file[0].rules[0].match, { commands: [`tool${n}`] });
    }
    console.log(`push to confirmed: ${took.map((ms) => Math.round(ms)).join(", ")} ms`);
  });
});

Deno.test("gitops: apply, dry run and rollback work against a real host, after a force-push too", async () => {
  await withAgent(async ({ repository, owner, held }) => {
    await owner("POST", "/api/v1/gitops/repos", {
      name: "rules",
      provider: "generic",
      url: repository.url,
    });
    type Step = { action: string; policy_id: string | null };
    type Applied = { changed: boolean; plan: Step[]; version: string };
    const apply = async (more: Record<string, unknown> = {}) => {
      const body = { repo_url: repository.url, branch: "main", policy_path: "rules", ...more };
      return await owner<Applied>("POST", "/api/v1/gitops/apply", body);
    };
    eq((await apply()).status, 400);
    await repository.push("main", { "rules/a.yaml": policy("one"), "rules/x/b.json": "{}" });
    await repository.push("next", { "rules/a.yaml": policy("two") });
    const dry = await apply({ dry_run: true });
    const done = await apply();
    // A dry run creates no policy, so it shows no ids.
    deq(dry.body.plan, done.body.plan.map((step) => ({ ...step, policy_id: null })));
    ok(done.body.plan.every(({ policy_id }) => policy_id?.startsWith("pol_")));
    deq(done.body.plan.map(({ action }) => action), ["create", "create"]);
    while (await held() === null);
    deq((await apply({ branch: "next" })).body.plan.map(({ action }) => action), [
      "update",
      "delete",
    ]);
    await repository.push("main", { "rules/a.yaml": policy("three") }, { force: true });
    deq((await apply()).body.plan.map(({ action }) => action), ["update"]);
    type Policies = { policies: { id: string; version: string }[] };
    const { body: { policies: [first] } } = await owner<Policies>("GET", "/api/v1/gitops/policies");
    eq(first?.version, "3");
    const back = { policy_id: first.id, version: "1" };
    eq((await owner("POST", "/api/v1/gitops/rollback", back)).status, 200);
    deq((await apply()).body.plan.map(({ action }) => action), ["pinned"]);
  });
});
