import type { KeyObject } from "node:crypto";
import type { Configuration } from "../../core/agent/configuration.ts";
import { POLICY_FILE } from "../../core/agent/policies.ts";
import { openState, type VerdictCounts } from "../../core/agent/state.ts";
import { openTransfers } from "../../core/agent/transfers.ts";
import { systemTree } from "../../core/agent/tree.ts";
import type { RelayFrame } from "../../core/protocol.ts";
import type { StateFrame, TransferReply } from "../../core/transfer_frames.ts";
import { newIdentity, ScriptedAgent } from "./agent.ts";
import { withFolder } from "./processes.ts";
import type { World } from "./world.ts";

interface Options {
  /** Folders of its own to list, below the one that is made for it. */
  readonly roots?: readonly string[];
  /** What is sent in place of an answer; null for nothing. */
  reply?(frame: TransferReply): TransferReply | null;
  /** False for one that never says which policies it holds. */
  readonly confirms?: boolean;
}

/** An agent whose state, backups and restores are the real agent's, over a folder of its own. */
export interface ConfiguredAgent {
  readonly identity: KeyObject;
  readonly link: ScriptedAgent;
  readonly folder: string;
  readonly policyFile: string;
  readonly counts: VerdictCounts;
  /** Links again, as the same agent. */
  again(): Promise<ConfiguredAgent>;
}

const FILES = {
  read(path: string): string | null {
    return systemTree.look(path) === null ? null : Deno.readTextFileSync(path);
  },
  write: (path: string, text: string) => Deno.writeTextFileSync(path, text),
};

/** Lets a test use an agent with a folder, and drops both. */
export async function withConfigured(
  world: World,
  key: string,
  use: (agent: ConfiguredAgent) => Promise<void>,
  options: Options = {},
): Promise<void> {
  await withFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/state`);
    for (const root of options.roots ?? ["etc"]) Deno.mkdirSync(`${folder}/${root}`);
    await use(await link(world, key, folder, options, newIdentity()));
  });
}

async function link(
  world: World,
  key: string,
  folder: string,
  options: Options,
  identity: KeyObject,
): Promise<ConfiguredAgent> {
  const stateDir = `${folder}/state`;
  const policyFile = `${stateDir}/${POLICY_FILE}`;
  const roots = (options.roots ?? ["etc"]).map((root) => `${folder}/${root}`);
  const settings = { name: "web-1", labels: {} };
  const configuration: Configuration = { tree: systemTree, stateDir, roots, settings };
  const counts: VerdictCounts = { verified: 0, refused: 0, last_refusal: null };
  const { log } = world.app.ports;
  const state = openState(configuration, FILES, world.clock, () => counts);
  const transfers = openTransfers(configuration, log);
  const linked = await ScriptedAgent.connect(world, key, {
    identity,
    take,
    confirms: options.confirms ?? true,
  });

  function take(frame: RelayFrame, agent: ScriptedAgent) {
    const tell = (one: StateFrame) => agent.sendRaw(JSON.stringify(one));
    const reply = (one: TransferReply) => {
      const told = options.reply === undefined ? one : options.reply(one);
      if (told !== null) agent.sendRaw(JSON.stringify(told));
    };
    if (frame.type === "policy") FILES.write(policyFile, JSON.stringify(frame.policies));
    if (frame.type === "inspect") queueMicrotask(() => state.answer(frame.serial, tell));
    if (
      frame.type !== "transfer" && frame.type !== "transfer_want" &&
      frame.type !== "transfer_data" && frame.type !== "transfer_end"
    ) return;
    const welcome = agent.received.find((one) => one.type === "welcome")!;
    queueMicrotask(() => transfers.take(frame, { welcome, nonce: agent.nonce, send: reply }));
  }

  return {
    identity,
    link: linked,
    folder,
    policyFile,
    counts,
    again() {
      state.detach();
      transfers.detach();
      return link(world, key, folder, options, identity);
    },
  };
}
