import { Buffer } from "node:buffer";
import type { Tenant } from "../../kv/store/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { App } from "../work/work.ts";
import { newestCheckpoint } from "../events/trail/checkpoints.ts";
import { readHandover } from "../protocol/checkpoints/handover.ts";
import { auditKeyOf, signerOf } from "../events/trail/keys.ts";
import { consistencyPath } from "../protocol/checkpoints/merkle.ts";
import { keyText } from "../protocol/checkpoints/note.ts";
import { nodesOf } from "../events/trail/tiles.ts";
import type { CheckpointFrame, CheckpointRefusedFrame } from "../protocol/protocol.ts";
import { noteRefusal } from "./refusals.ts";

/** The agent of one link, which keeps checkpoints as a witness. */
export class Witness {
  #giving: Promise<void> = Promise.resolve();
  #refused = false;

  constructor(
    private readonly app: App,
    private readonly tenant: Tenant,
    /** How many rows of the audit log the agent has a checkpoint of. */
    private size: number,
    /** False when the link is over. */
    private readonly send: (frame: CheckpointFrame) => boolean,
  ) {}

  /** Gives it the newest checkpoint; each begins at the one before it. Never fails. */
  give(): Promise<void> {
    return this.#giving = this.#giving.then(async () => {
      const made = await checkpointFrame(this.app, this.tenant, this.size);
      if (made !== null && this.send(made.frame)) this.size = made.size;
    }).catch((error) => {
      this.app.ports.log.error("an agent got no checkpoint", { error: String(error) });
    });
  }

  /** It knows another past. Once a link is enough: the relay's does not come back while it lasts. Never fails. */
  async refused(
    { id, name }: AgentRecord,
    { reason, witnessed, size }: CheckpointRefusedFrame,
  ): Promise<void> {
    if (this.#refused) return;
    this.#refused = true;
    const said = { reason, witnessed, size };
    this.app.ports.log.error("an agent knows another past of the audit log", {
      agent: id,
      ...said,
    });
    await noteRefusal(this.app, this.tenant, id, "checkpoint_refused", { name, ...said });
  }
}

/** The frame that gives an agent the newest checkpoint, with the proof that the log it knows has only grown. */
export async function checkpointFrame(
  app: App,
  tenant: Tenant,
  witnessed: number,
): Promise<{ frame: CheckpointFrame; size: number } | null> {
  const checkpoint = await newestCheckpoint(app, tenant);
  if (checkpoint === null || checkpoint.size === witnessed) return null;
  const { size, note } = checkpoint;
  const grown = witnessed > 0 && witnessed < size;
  const path = grown ? await consistencyPath(nodesOf(app.store, tenant), witnessed, size) : [];
  const proof = path.map((hash) => Buffer.from(hash).toString("base64"));
  const key = signerOf(await auditKeyOf(app, tenant), note);
  // Of those before it the agent has seen a checkpoint by a later key.
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
