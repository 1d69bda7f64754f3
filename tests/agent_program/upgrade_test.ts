import { hash } from "node:crypto";
import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { runAgent } from "../../core/cli/agent/agent.ts";
import { machineHost } from "../../core/cli/agent/host.ts";
import { systemTree } from "../../core/cli/agent/tree.ts";
import { programPath, readMarker } from "../../core/cli/agent/upgrade/marker.ts";
import { openUpgrades } from "../../core/cli/agent/upgrade/receive.ts";
import { startStored } from "../../core/cli/agent/upgrade/process.ts";
import type { TransferReply } from "../../core/protocol/transfers.ts";
import type { ProgramForm, UpgradeFrame } from "../../core/protocol/upgrades.ts";
import {
  privateKeyOf,
  rawPublicKey,
  signText,
  upgradeText,
} from "../../core/protocol/statements.ts";
import { withFolder } from "../support/processes.ts";
import { filesOf, mark, put } from "./stored_programs.ts";

const KEY = privateKeyOf(new Uint8Array(32).fill(1));
const LINK = { agentId: "agt_1", nonce: "n".repeat(24) };
const WELCOME = {
  type: "welcome" as const,
  agent_id: LINK.agentId,
  name: "web-1",
  heartbeat_seconds: 30,
  relay_version: "0.2.0",
  time_ms: 1_000,
  verdict_key: rawPublicKey(KEY),
  signature: "",
};
const PROGRAM = "console.log('new');\n";
const RIGHT = {
  type: "upgrade" as const,
  serial: 1,
  expires_at_ms: 60_000,
  job_id: "upj_1",
  version: "0.2.0",
  platform: "any",
  sha256: hash("sha256", PROGRAM),
  bytes: PROGRAM.length,
};
const sign = (order: typeof RIGHT): UpgradeFrame => ({
  ...order,
  signature: signText(KEY, upgradeText(LINK, order)),
});

/** The agent's end of upgrades over a folder, and what it sent. */
function receiver(
  stateDir: string,
  form: ProgramForm = "bundle",
  tree = systemTree,
  jobId: string | null = null,
) {
  const sent: TransferReply[] = [];
  const logged: string[] = [];
  let switched = 0;
  const write = (line: string) => void logged.push(line);
  const upgrades = openUpgrades({
    stateDir,
    tree,
    log: { info: write, warn: write, error: write },
    machine: { version: "0.1.0", platform: "linux-x86_64", form, hostname: "box" },
    jobId,
    switchOver: () => void switched++,
  });
  const send = (frame: TransferReply) => void sent.push(frame);
  const link = { welcome: WELCOME, nonce: LINK.nonce, relayNow: () => 1_000, send };
  return {
    upgrades,
    sent,
    switched: () => switched,
    begin: (order: UpgradeFrame, more: Partial<typeof link> = {}) =>
      upgrades.begin(order, { ...link, ...more }),
    piece: (text: string, offset = 0, job_id = RIGHT.job_id) =>
      upgrades.receive({ type: "transfer_data", job_id, offset, data: btoa(text) }),
  };
}

Deno.test("openUpgrades: a signed program is written, checked and named in the marker before the agent switches", async () => {
  await withFolder(async (stateDir) => {
    const { begin, piece, sent, switched } = receiver(stateDir);
    eq(begin(sign(RIGHT)), null);
    piece(PROGRAM.slice(0, 7));
    piece("late", 0);
    eq(piece("for a restore", 0, "rst_1"), false);
    eq(switched(), 0);
    piece(PROGRAM.slice(7), 7);
    eq(switched(), 1);
    deq(sent.map((frame) => [frame.type, "offset" in frame ? frame.offset : null]), [
      ["transfer_want", 0],
      ["transfer_want", 7],
      ["upgrade_ready", null],
    ]);
    const { job_id, version, sha256 } = RIGHT;
    const candidate = { job_id, version, sha256, form: "bundle" as const, started: false };
    deq(readMarker({ stateDir, tree: systemTree }), { trusted: null, candidate, failed: null });
    eq(Deno.readTextFileSync(programPath({ stateDir }, candidate)), PROGRAM);
  });
});

Deno.test("openUpgrades: an order with any changed field, a replay or a late one ends the link, and writes nothing", async () => {
  await withFolder(async (stateDir) => {
    const right = sign(RIGHT);
    const changes: Partial<UpgradeFrame>[] = [
      { serial: 2 },
      { expires_at_ms: 60_001 },
      { job_id: "upj_2" },
      { version: "0.2.1" },
      { platform: "linux-x86_64" },
      { sha256: "0".repeat(64) },
      { bytes: 3 },
      { signature: "" },
      { signature: right.signature.replace(/./, (first) => first === "A" ? "B" : "A") },
    ];
    for (const change of changes) {
      const { begin, sent } = receiver(stateDir);
      match(begin({ ...right, ...change })!, /not signed by the relay for this agent/);
      deq(sent, []);
    }
    const { begin, sent } = receiver(stateDir);
    match(begin(right, { nonce: "m".repeat(24) })!, /not signed/);
    match(begin(right, { welcome: { ...WELCOME, agent_id: "agt_2" } })!, /not signed/);
    match(begin(right, { relayNow: () => 60_000 })!, /expired/);
    match(begin(right)!, /ordered before/);
    deq(sent, []);
    deq(filesOf(stateDir), []);
  });
});

Deno.test("openUpgrades: a program that this agent cannot take is refused with the reason, and nothing changes", async () => {
  await withFolder(async (stateDir) => {
    const refusalOf = (change: Partial<typeof RIGHT>, form?: ProgramForm) => {
      const { begin, sent, switched } = receiver(stateDir, form);
      eq(begin(sign({ ...RIGHT, ...change })), null);
      eq(switched(), 0);
      const [reply] = sent;
      return reply?.type === "transfer_failed" ? reply.message : reply?.type;
    };
    match(refusalOf({}, "source")!, /installed from source: update its checkout/);
    match(
      refusalOf({}, "executable")!,
      /compiled executable, which cannot run a bundle: provide the executable for linux-x86_64/,
    );
    match(
      refusalOf({ platform: "linux-aarch64" }, "executable")!,
      /for linux-aarch64, and this agent needs linux-x86_64/,
    );
    match(refusalOf({ platform: "darwin-aarch64" })!, /this agent needs any/);
    for (const version of ["0.1.0", "0.0.9", "0.1.0-rc.1"]) {
      match(refusalOf({ version })!, /is not newer/);
    }
    deq(filesOf(stateDir), []);
  });
});

Deno.test("openUpgrades: bytes that do not match the digest, pieces that do not fit, and lost links leave nothing", async () => {
  await withFolder(async (stateDir) => {
    const spoiled = receiver(stateDir);
    spoiled.begin(sign(RIGHT));
    spoiled.piece(PROGRAM.toUpperCase());
    const long = receiver(stateDir);
    long.begin(sign(RIGHT));
    long.piece(`${PROGRAM} `);
    const lost = receiver(stateDir);
    lost.begin(sign(RIGHT));
    lost.upgrades.detach();
    eq(lost.piece(PROGRAM), false);
    const ends = [spoiled, long, lost].map(({ sent, switched }) => {
      const last = sent.at(-1)!;
      return [last.type === "transfer_failed" ? last.message : last.type, switched()];
    });
    deq(ends, [["it does not match its digest", 0], ["a piece does not fit", 0], [
      "transfer_want",
      0,
    ]]);
    deq(filesOf(stateDir), []);
  });
});

Deno.test("openUpgrades: a program whose marker does not fit on the disk is removed", async () => {
  await withFolder(async (stateDir) => {
    const write = () => {
      throw new Error("no space left on the device");
    };
    const full = receiver(stateDir, "bundle", { ...systemTree, write });
    full.begin(sign(RIGHT));
    full.piece(PROGRAM);
    const last = full.sent.at(-1)!;
    eq(last.type === "transfer_failed" && last.message, "no space left on the device");
    deq([full.switched(), filesOf(stateDir)], [0, []]);
  });
});

Deno.test("openUpgrades: a trusted program notes its first attempt to link, before and without a welcome", async () => {
  await withFolder(async (stateDir) => {
    const trusted = { ...put(stateDir, "0.2.0", "upj_1"), ran: false };
    const ran = () => readMarker({ stateDir, tree: systemTree }).trusted?.ran;
    const failed = { job_id: "upj_0", message: "earlier" };
    for (const how of ["attempted", "confirm"] as const) {
      mark(stateDir, { trusted, failed });
      receiver(stateDir, "bundle", systemTree, "upj_2").upgrades[how]();
      eq(ran(), false);
      receiver(stateDir, "bundle", systemTree, "upj_1").upgrades[how]();
      eq(ran(), true);
      deq(readMarker({ stateDir, tree: systemTree }).failed, failed);
    }
  });
});

Deno.test("runAgent: a stored program that cannot reach its relay has started well", async () => {
  await withFolder(async (stateDir) => {
    mark(stateDir, { trusted: { ...put(stateDir, "0.2.0", "upj_1"), ran: false } });
    const stop = new AbortController();
    let stopped: Promise<number> | undefined;
    const ranAtFirstLine = new Promise<boolean | undefined>((resolve) => {
      const write = () => resolve(readMarker({ stateDir, tree: systemTree }).trusted?.ran);
      const host = { ...machineHost, log: { info: write, warn: write, error: write } };
      // Nothing listens at this port.
      const url = "http://127.0.0.1:1";
      const options = { url, token: "svc_1", stateDir, upgrade: "upj_1", signal: stop.signal };
      stopped = runAgent(options, host);
    });
    eq(await ranAtFirstLine, true);
    stop.abort();
    eq(await stopped, 0);
  });
});

Deno.test("startStored: a bundle gets the arguments, the agent's own variables and the credential of standard input", async () => {
  await withFolder(async (stateDir) => {
    const text = `
      const line = new Uint8Array(64);
      const n = Deno.stdin.readSync(line);
      const { RELAY_TOKEN, RELAY_AGENT_UPGRADE } = Deno.env.toObject();
      const got = [Deno.args, RELAY_TOKEN, RELAY_AGENT_UPGRADE, new TextDecoder().decode(line.subarray(0, n))];
      const test = await Deno.connect({ port: Number(Deno.args[1]) });
      await new Blob([JSON.stringify(got)]).stream().pipeTo(test.writable);
      Deno.exit(Deno.stdin.readSync(line) === null ? 1 : 5);`;
    const program = { ...put(stateDir, "0.2.0"), sha256: hash("sha256", text) };
    Deno.writeTextFileSync(programPath({ stateDir }, program), text);
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const port = String(listener.addr.port);
    const invocation = { args: [port], environment: { RELAY_TOKEN: "svc_1" }, stdin: "svc_2" };
    const child = startStored({ stateDir, tree: systemTree }, program, invocation);
    const got = await new Response((await listener.accept()).readable).json();
    // It reads on as long as this process lives.
    child.stop();
    eq(await child.ended, 143);
    deq(got, [
      ["agent", port],
      "svc_1",
      program.job_id,
      "svc_2\n",
    ]);
  });
});
