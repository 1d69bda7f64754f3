import { Buffer } from "node:buffer";
import type { Tenant } from "../../../kv/store/collection.ts";
import { isWithin } from "../../../kv/store/clock.ts";
import { HOUR_MS } from "../../../kv/store/durations.ts";
import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import type { Context } from "../../context/context.ts";
import { auditKeyOf, newestCheckpoint, nodesOf, signerOf } from "../../events/events.ts";
import {
  type CheckpointFrame,
  type CheckpointKeptFrame,
  type CheckpointRefusedFrame,
  consistencyPath,
  cosigned,
  keyText,
  readHandover,
} from "../../protocol/protocol.ts";
import { noteRefusal } from "./refusals.ts";

/** How often an agent's signature is recorded, so that many agents cost few writes. */
const RECORDED_MS = HOUR_MS;

/** The agent of one link as a witness, which keeps the checkpoints that it is sent. */
export class Witness {
  #sending: Promise<void> = Promise.resolve();
  /** The note that was sent last. */
  #note = "";
  #refused = false;

  constructor(
    private readonly context: Pick<Context, "store" | "ports" | "signals" | "sealer">,
    private readonly tenant: Tenant,
    /** The size of the audit log in the agent's newest checkpoint. */
    private size: number,
    /** Returns false when the link is closed. */
    private readonly send: (frame: CheckpointFrame) => boolean,
  ) {}

  /** Sends the newest checkpoint, with a proof from the one before. Checkpoints go one after the other. */
  sendNewest(): Promise<void> {
    const sent = this.#sending.then(async () => {
      const made = await checkpointFrame(this.context, this.tenant, this.size);
      if (made === null || !this.send(made.frame)) return;
      this.size = made.size;
      this.#note = made.frame.note;
    });
    this.#sending = sent.catch(() => {});
    return sent;
  }

  /** Records the newest checkpoint that the agent signed, at most once an hour. Others change nothing. */
  async kept(
    { id, public_key }: AgentRecord,
    { size, signature }: CheckpointKeptFrame,
  ): Promise<void> {
    const { store, ports } = this.context;
    if (size !== this.size || this.#note === "") return;
    const key = { name: id, publicKey: public_key };
    const note = cosigned(this.#note, key, Buffer.from(signature, "base64url"));
    const at_ms = ports.clock.now();
    const isDue = ({ witnessed }: AgentRecord) =>
      witnessed === null || !isWithin(witnessed.at_ms, RECORDED_MS, at_ms);
    const known = await store.get(agents, this.tenant, id);
    if (note === null || known === null || !isDue(known)) return;
    await store.transact(async (tx) => {
      const agent = await tx.get(agents, this.tenant, id);
      if (agent === null || !isDue(agent)) return;
      tx.put(agents, this.tenant, { ...agent, witnessed: { note, at_ms } });
    });
  }

  /** Records that the agent knows a different log, once for each link: the difference outlasts the link. */
  async refused(
    agent: AgentRecord,
    { reason, witnessed, size }: CheckpointRefusedFrame,
  ): Promise<void> {
    if (this.#refused) return;
    this.#refused = true;
    const why = { reason, witnessed, size };
    const { log } = this.context.ports;
    log.error("an agent has a checkpoint of a different audit log", { agent: agent.id, ...why });
    await noteRefusal(this.context, this.tenant, agent, "checkpoint_refused", why);
  }
}

/**
 * The frame with the newest checkpoint, and the proof that the log of `witnessed` rows has only grown; null
 * when the agent has that checkpoint, or none was made.
 */
export async function checkpointFrame(
  context: Pick<Context, "store" | "sealer">,
  tenant: Tenant,
  witnessed: number,
): Promise<{ frame: CheckpointFrame; size: number } | null> {
  const { store } = context;
  const checkpoint = await newestCheckpoint(context, tenant);
  if (checkpoint === null || checkpoint.size === witnessed) return null;
  const { size, note } = checkpoint;
  const grown = witnessed > 0 && witnessed < size;
  const path = grown ? await consistencyPath(nodesOf(store, tenant), witnessed, size) : [];
  const proof = path.map((hash) => Buffer.from(hash).toString("base64"));
  const key = signerOf(await auditKeyOf(context, tenant), note);
  // The agent already follows the handovers from before the checkpoint that it holds.
  const handovers = key.handovers.filter((handover) => readHandover(handover)!.rows >= witnessed);
  return {
    frame: {
      type: "checkpoint",
      note,
      public_key: keyText(key),
      proof,
      ...(handovers.length > 0 && { handovers }),
    },
    size,
  };
}
