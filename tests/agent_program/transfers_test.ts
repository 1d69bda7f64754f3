import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Configuration } from "../../core/cli/agent/backup/configuration.ts";
import type { AgentTree } from "../../core/cli/agent/interfaces.ts";
import { openTransfers } from "../../core/cli/agent/backup/transfers.ts";
import { openSigner } from "../../core/agents/links/link_signer.ts";
import { compress } from "../../core/protocol/archive.ts";
import { privateKeyOf, rawPublicKey } from "../../core/protocol/statements.ts";
import type { TransferReply } from "../../core/protocol/transfers.ts";

const privateKey = privateKeyOf(new Uint8Array(32).fill(1));
const key = { publicKey: rawPublicKey(privateKey), privateKey };

/** One link of the agent, with what it sent there. */
function openLink(nonce: string) {
  const frames: TransferReply[] = [];
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const welcome = {
    type: "welcome" as const,
    agent_id: "agt_1",
    name: "box",
    heartbeat_seconds: 30,
    relay_version: "0.1.0",
    time_ms: 1,
    verdict_key: key.publicKey,
    signature: "",
  };
  const signer = openSigner(key, { agentId: "agt_1", nonce });
  const send = (frame: TransferReply) => {
    frames.push(frame);
    resolve();
  };
  return {
    frames,
    ready,
    backup: (job_id: string) =>
      signer.transfer({ job_id, kind: "backup", sha256: null, stored_bytes: 0 }),
    link: { welcome, nonce, send },
  };
}

Deno.test("openTransfers: a backup that was packed after its link was lost is not kept, and takes the place of none", async () => {
  let file: Uint8Array<ArrayBuffer> = new Uint8Array(randomBytes(2 * 1024 * 1024));
  const big = file;
  const tree = {
    look: (path: string) =>
      path === "/etc/box" ? { kind: "file", bytes: file.length, mode: 0o644, owner: 0 } : null,
    read: () => file,
  } as unknown as AgentTree;
  const settings = { name: "box", labels: {} };
  const configuration: Configuration = { tree, stateDir: "/state", roots: ["/etc/box"], settings };
  const log = { info() {}, warn() {}, error() {} };
  const transfers = openTransfers(configuration, log);
  const [first, second] = [openLink("a".repeat(24)), openLink("b".repeat(24))];

  eq(transfers.take(first.backup("job_1"), first.link), null);
  transfers.detach();
  file = new TextEncoder().encode("small");
  eq(transfers.take(second.backup("job_2"), second.link), null);
  await second.ready;
  await compress(big); // as much work as the first one's
  await compress(big);
  transfers.take({ type: "transfer_want", job_id: "job_1", offset: 0 }, second.link);
  transfers.take({ type: "transfer_want", job_id: "job_2", offset: 0 }, second.link);
  deq(first.frames, []);
  deq(second.frames.map(({ type, job_id }) => [type, job_id]), [
    ["transfer_ready", "job_2"],
    ["transfer_data", "job_2"],
  ]);
});
