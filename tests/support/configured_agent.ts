import type { KeyObject } from "node:crypto";
import type { Configuration } from "../../core/cli/agent/backup/configuration.ts";
import { POLICY_FILE } from "../../core/cli/agent/policies.ts";
import { openState, type VerdictCounts } from "../../core/cli/agent/state.ts";
import { openTransfers } from "../../core/cli/agent/backup/transfers.ts";
import { systemTree } from "../../core/cli/agent/tree.ts";
import type { RelayFrame } from "../../core/protocol/protocol.ts";
import type { StateFrame, TransferOrder, TransferReply } from "../../core/protocol/transfers.ts";
import { newIdentity, ScriptedAgent } from "./agent.ts";
import { withFolder } from "./processes.ts";
import type { World } from "./world.ts";

interface Options {
  /** What is sent in place of an answer. */
  readonly reply?: (frame: TransferReply) => TransferReply;
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
  /** Why it refused a transfer, or null. */
  readonly refused: string | null;
  /** What becomes of the relay's frames on their way. */
  spoil: (frame: TransferOrder) => TransferOrder;
  /** True while nothing about transfers reaches the agent. */
  hold: boolean;
  /** Lists another folder in place of the others. */
  lists(root: string): void;
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
    Deno.mkdirSync(`${folder}/etc`);
    await use(await link(world, key, folder, options, newIdentity()));
  });
}

/** What a test changes while an agent is there; it outlasts the link. */
interface Ways {
  refused: string | null;
  spoil: (frame: TransferOrder) => TransferOrder;
  hold: boolean;
}

const TRANSFERS = ["transfer", "transfer_want", "transfer_data", "transfer_end"];
const isTransfer = (frame: RelayFrame): frame is TransferOrder => TRANSFERS.includes(frame.type);

async function link(
  world: World,
  key: string,
  folder: string,
  options: Options,
  identity: KeyObject,
  ways: Ways = { refused: null, spoil: (frame) => frame, hold: false },
): Promise<ConfiguredAgent> {
  const stateDir = `${folder}/state`;
  const policyFile = `${stateDir}/${POLICY_FILE}`;
  const roots = [`${folder}/etc`];
  const settings = { name: "web-1", labels: {} };
  const configuration: Configuration = { tree: systemTree, stateDir, roots, settings };
  const counts: VerdictCounts = { verified: 0, refused: 0, last_refusal: null };
  const state = openState(configuration, FILES, world.clock, () => counts);
  const transfers = openTransfers(configuration, world.app.ports.log);
  const { confirms = true } = options;
  const linked = await ScriptedAgent.connect(world, key, { identity, take, confirms });

  function take(frame: RelayFrame, agent: ScriptedAgent) {
    const tell = (one: StateFrame) => agent.sendRaw(JSON.stringify(one));
    const reply = (one: TransferReply) =>
      agent.sendRaw(JSON.stringify(options.reply?.(one) ?? one));
    if (frame.type === "policy") FILES.write(policyFile, JSON.stringify(frame.policies));
    if (frame.type === "inspect") queueMicrotask(() => state.answer(frame.serial, tell));
    if (!isTransfer(frame) || ways.hold) return;
    const welcome = agent.received.find((one) => one.type === "welcome")!;
    queueMicrotask(() => {
      const via = { welcome, nonce: agent.nonce, send: reply };
      ways.refused = transfers.take(ways.spoil(frame), via);
      if (ways.refused !== null) agent.drop();
    });
  }

  return Object.assign(ways, {
    identity,
    link: linked,
    folder,
    policyFile,
    counts,
    lists(root: string) {
      Deno.mkdirSync(`${folder}/${root}`);
      roots.splice(0, roots.length, `${folder}/${root}`);
    },
    again() {
      state.detach();
      transfers.detach();
      return link(world, key, folder, options, identity, ways);
    },
  });
}
