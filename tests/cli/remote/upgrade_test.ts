import { hash } from "node:crypto";
import { deepStrictEqual as deq, match, rejects, strictEqual as eq } from "node:assert/strict";
import { VERSION } from "../../../core/protocol/protocol.ts";
import type { RelayFrame } from "../../../core/protocol/protocol.ts";
import type { ProgramFacts } from "../../../core/protocol/upgrades.ts";
import { agentPrograms } from "../../../core/cli/agent_programs.ts";
import { newIdentity, ScriptedAgent } from "../../support/agent.ts";
import { withFolder } from "../../support/processes.ts";
import { World } from "../../support/world.ts";
import { withTerminal } from "./terminal.ts";

const PROGRAM = new TextEncoder().encode("a program");
const PROGRAMS = {
  find: () =>
    Promise.resolve({
      sha256: hash("sha256", PROGRAM),
      bytes: PROGRAM.length,
      read: () => Promise.resolve(PROGRAM),
    }),
};

/** What a bundle tells when it comes back after an order; null for one that never does. */
type Outcome = ((jobId: string) => ProgramFacts & { version?: string }) | null;

const succeeds: Outcome = (upgrade) => ({ form: "bundle", upgrade, version: VERSION });
const crashes: Outcome = (job_id) => ({
  form: "bundle",
  failed: { job_id, message: "it ended with exit code 3" },
});

/** A relay with programs, a person who is signed in, and agents of an earlier version. */
async function furnish(world: World, agents: Readonly<Record<string, Outcome>>) {
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:admin"]);
  for (const [name, outcome] of Object.entries(agents)) {
    const identity = newIdentity();
    const connect = (program: ProgramFacts, version = "0.0.9"): Promise<ScriptedAgent> =>
      ScriptedAgent.connect(world, value, {
        name,
        identity,
        hello: (own) => ({ ...own, agent: { ...own.agent, version }, program }),
        take,
      });
    const take = (frame: RelayFrame, link: ScriptedAgent) => {
      if (frame.type !== "upgrade" && frame.type !== "transfer_data") return;
      const { job_id } = frame;
      queueMicrotask(() => {
        const reply = frame.type === "upgrade"
          ? { type: "transfer_want", job_id, offset: 0 }
          : { type: "upgrade_ready", job_id };
        link.sendRaw(JSON.stringify(reply));
        if (frame.type === "upgrade" || outcome === null) return;
        link.drop();
        const { version, ...program } = outcome(job_id);
        connect(program, version);
      });
    };
    await connect({ form: "bundle" });
  }
  return { env: { RELAY_TOKEN: owner.token } };
}

const columnsOf = (out: string) => out.trim().split("\n").map((line) => line.split(/  +/).slice(1));

Deno.test("relay agents upgrade: shows each agent's progress and its end, and exits with 0", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const { env } = await furnish(world, { "web-1": succeeds, "web-2": succeeds });
  await withTerminal(world, async ({ run }) => {
    const { code, out, err } = await run(["agents", "upgrade", "--all"], { env });
    deq([code, columnsOf(out)], [0, [
      ["NAME", "STATUS", "FROM", "TO", "WHY"],
      ["web-1", "complete", "0.0.9", VERSION, "-"],
      ["web-2", "complete", "0.0.9", VERSION, "-"],
    ]]);
    match(err, RegExp(`^web-1 has version ${VERSION}\\.$`, "m"));
    match(err, RegExp(`^web-2 has version ${VERSION}\\.$`, "m"));
    const again = await run(["agents", "upgrade", "web-1"], { env });
    deq([again.code, again.err], [0, `web-1 is not upgraded: it has version ${VERSION}.\n`]);
    const none = await run(["agents", "upgrade", "--all", "--json"], { env });
    deq([none.code, JSON.parse(none.out)], [0, { upgrade: null, skipped: [], remaining: 0 }]);
  });
});

Deno.test("relay agents upgrade: a program that does not come back stops it, and exits with 1", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const { env } = await furnish(world, { "web-1": crashes, "web-2": succeeds });
  await withTerminal(world, async ({ run }) => {
    const { code, out, err } = await run(["agents", "upgrade", "web-1", "web-2"], { env });
    deq([code, columnsOf(out).slice(1)], [1, [
      ["web-1", "failed", "0.0.9", VERSION, "it ended with exit code 3"],
      ["-", "waiting", "-", VERSION, "-"],
    ]]);
    match(err, /^web-1 keeps its program: it ended with exit code 3\.$/m);
    const { body } = await world.call("GET", "/api/v1/agents/web-2", { as: env.RELAY_TOKEN });
    eq(body.outdated, true);
  });
});

Deno.test("relay agents upgrade: Ctrl-C stops the upgrade, and exits with 130", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const { env } = await furnish(world, { "web-1": null, "web-2": null });
  await withTerminal(world, async ({ run }) => {
    let interrupt = () => {};
    const { code, out, err } = await run(["agents", "upgrade", "--all"], {
      env,
      onInterrupt: (end) => interrupt = end,
      sleep: async (ms) => {
        interrupt();
        await world.advance(ms);
      },
    });
    deq([code, columnsOf(out).slice(1)], [130, [
      ["web-1", "running", "0.0.9", VERSION, "-"],
      ["-", "waiting", "-", VERSION, "-"],
    ]]);
    match(err, /Stopping\. Agents that are being upgraded go on\./);
  });
});

Deno.test("agentPrograms: finds files by version and platform, reads any part, and sees a replaced file", async () => {
  await withFolder(async (folder) => {
    const programs = agentPrograms(folder);
    const put = (name: string, text: string) => Deno.writeTextFile(`${folder}/relay-${name}`, text);
    await put("0.2.0.js", "bundle");
    await put("0.2.0-linux-x86_64", "executable");
    await put("0.2.0-darwin-aarch64", "");
    const bundle = (await programs.find("0.2.0", "any"))!;
    deq([bundle.sha256, bundle.bytes], [hash("sha256", "bundle"), 6]);
    eq(new TextDecoder().decode(await bundle.read(2, 3)), "ndl");
    eq((await programs.find("0.2.0", "linux-x86_64"))?.sha256, hash("sha256", "executable"));
    for (const [version, platform] of [["0.2.1", "any"], ["0.2.0", "darwin-aarch64"]] as const) {
      eq(await programs.find(version, platform), null);
    }
    await Deno.mkdir(`${folder}/relay-0.2.0-`);
    await Deno.writeTextFile(`${folder}/secret`, "not a program");
    for (const platform of ["/../secret", "../secret", "", "linux.x86"]) {
      eq(await programs.find("0.2.0", platform), null);
    }
    await put("0.2.0.js", "b");
    eq((await programs.find("0.2.0", "any"))?.sha256, hash("sha256", "b"));
    await rejects(bundle.read(0, 6), /has become shorter/);
    eq(await agentPrograms(null).find("0.2.0", "any"), null);
  });
});
