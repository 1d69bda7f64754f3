import { Buffer } from "node:buffer";
import type { Tenant } from "../../kv/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { App } from "../app.ts";
import { newestCheckpoint } from "../audit/checkpoints.ts";
import { readHandover } from "../audit/handover.ts";
import { auditKeyOf, signerOf } from "../audit/keys.ts";
import { consistencyPath } from "../audit/merkle.ts";
import { keyText } from "../audit/note.ts";
import { nodesOf } from "../audit/tiles.ts";
import { emit, RELAY_ACTOR } from "../events.ts";
import type { CheckpointFrame, CheckpointRefusedFrame } from "../protocol.ts";

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

/** Puts on record that an agent knows another past of the audit log; never fails. */
export async function noteRefusedCheckpoint(
  app: App,
  tenant: Tenant,
  { id, name }: AgentRecord,
  { reason, witnessed, size }: CheckpointRefusedFrame,
): Promise<void> {
  const { log } = app.ports;
  log.error("an agent knows another past of the audit log", { agent: id, reason, witnessed, size });
  try {
    await app.store.transact((tx) =>
      emit({ app, actor: RELAY_ACTOR }, tx, tenant, {
        type: "checkpoint_refused",
        resource: { type: "agent", id },
        agentId: id,
        details: { name, reason, witnessed, size },
      })
    );
  } catch (error) {
    log.error("a refused checkpoint could not be recorded", { error: String(error) });
  }
}
