import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import { VERSION } from "../../core/protocol/protocol.ts";
import { makeChunks } from "../build/make_bundle.ts";
import { bundleAgent } from "../agent_program/bundle_agent.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";

const OLD = "0.0.1";

interface Upgrade {
  readonly id: string;
  readonly status: string;
  readonly agents: readonly { status: string; error: string | null }[];
}

/** The state of the only agent, when an upgrade of it has ended. */
async function upgradeAll(owner: Client): Promise<Upgrade["agents"][number]> {
  const started = await owner<{ upgrade: Upgrade }>("POST", "/api/v1/agent-upgrades", {
    all: true,
  });
  for (let { upgrade } = expectStatus(started, 200, "upgrading");;) {
    if (upgrade.status !== "running") return upgrade.agents[0]!;
    await new Promise((resolve) => setTimeout(resolve, 50));
    upgrade = (await owner<Upgrade>("GET", `/api/v1/agent-upgrades/${upgrade.id}`)).body;
  }
}

const linked = (agent: Program) => agent.line(/^connected to .* \((\w+)\)$/, START_MS);

Deno.test("upgrade: a real agent returns to its program when the new one crashes, and keeps one that links", async () => {
  await withFolder(async (folder) => {
    const [main, programs] = [`${folder}/agent.js`, `${folder}/programs`];
    const offered = `${programs}/relay-${VERSION}.js`;
    await Deno.mkdir(programs);
    await bundleAgent(main);
    const current = await Deno.readTextFile(main);
    ok(current.includes(`"${VERSION}"`));
    await Deno.writeTextFile(main, current.replaceAll(`"${VERSION}"`, `"${OLD}"`));
    const { relay, url } = await startRelayProcess({
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_AGENT_PROGRAMS: programs,
    });
    try {
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const token = await makeKey(owner, ["agents:admin"]);
      const args = ["agent", "--url", url, "--state", `${folder}/state`];
      const start = () => startMain([...args, "--label", "a=b"], { RELAY_TOKEN: token }, { main });
      const versionOf = async (id: string) => {
        const { body } = await owner<Record<string, unknown>>("GET", `/api/v1/agents/${id}`);
        return [body.version, body.outdated, body.status, body.labels];
      };
      const run = async (id: string) =>
        (await owner<{ stdout: string }>("GET", `/api/exec/${id}?command=echo+hi`)).body.stdout;
      let agent = start();
      try {
        const [, id] = await linked(agent);
        deq(await versionOf(id!), [OLD, true, "online", { a: "b" }]);

        await Deno.writeTextFile(offered, 'console.error("broken");\nDeno.exit(3);\n');
        const broken = await upgradeAll(owner);
        eq(broken.status, "failed");
        match(broken.error!, /ended with exit code 3 before the relay had welcomed it/);
        deq(await versionOf(id!), [OLD, true, "online", { a: "b" }]);
        eq(await run(id!), "hi\n");

        await Deno.writeTextFile(offered, current);
        deq(await upgradeAll(owner), {
          ...broken,
          status: "complete",
          error: null,
        });
        deq(await versionOf(id!), [VERSION, false, "online", { a: "b" }]);
        eq(await run(id!), "hi\n");

        // The new program ends with its supervisor, however that dies, and starts again with it.
        await agent.kill();
        while ((await versionOf(id!))[2] !== "offline") {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        agent = start();
        eq((await linked(agent))[1], id);
        deq(await versionOf(id!), [VERSION, false, "online", { a: "b" }]);
        eq(await run(id!), "hi\n");
      } finally {
        eq((await agent.stop()).code, 0);
      }
    } finally {
      eq((await relay.stop()).code, 0);
    }
  });
});

Deno.test("upgrade: a relay in parts, as in the image, sends the bundle among them to an agent in parts", async () => {
  await withFolder(async (folder) => {
    await makeChunks(`${folder}/new`);
    await Deno.mkdir(`${folder}/old`);
    for (const { name } of Deno.readDirSync(`${folder}/new`)) {
      const text = await Deno.readTextFile(`${folder}/new/${name}`);
      await Deno.writeTextFile(
        `${folder}/old/${name}`,
        text.replaceAll(`"${VERSION}"`, `"${OLD}"`),
      );
    }
    await bundleAgent(`${folder}/new/relay.js`);
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { relay, url } = await startRelayProcess(env, ["serve"], `${folder}/new/main.js`);
    try {
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const agent = startMain(
        ["agent", "--url", url, "--state", `${folder}/state`],
        { RELAY_TOKEN: await makeKey(owner, ["agents:admin"]) },
        { main: `${folder}/old/main.js` },
      );
      try {
        const [, id] = await linked(agent);
        const seen = async () =>
          (await owner<Record<string, unknown>>("GET", `/api/v1/agents/${id}`)).body;
        const { version, program } = await seen();
        deq([version, program], [OLD, "bundle"]);
        const { status, error } = await upgradeAll(owner);
        deq([status, error], ["complete", null]);
        eq((await seen()).version, VERSION);
      } finally {
        eq((await agent.stop()).code, 0);
      }
    } finally {
      eq((await relay.stop()).code, 0);
    }
  });
});
