import type { KeyParts } from "../../../kv/store/collection.ts";
import { type DeliveryRecord, type DeliveryState, stateOf } from "../../../kv/records/webhook.ts";

/** True for a delivery in one of the states, by its index key; tests never, pending ones only after a failed attempt. */
export function isRecoverable(key: KeyParts, states: readonly string[]): boolean {
  const [, seq, , status, state] = key as UndeliveredKey;
  if (seq === 0 || !states.includes(state)) return false;
  return state !== "pending" || status === "failed" || status === "timed_out";
}

/** The parts of a key of the `undelivered` index after the webhook: its position, and the fields of filters. */
export type UndeliveredKey = readonly [
  createdMs: number,
  seq: number,
  id: string,
  status: DeliveryRecord["status"],
  state: DeliveryState,
  type: string,
];

/** The key of a delivery in the index, without the webhook. */
export const undeliveredKeyOf = (d: DeliveryRecord): UndeliveredKey => [
  d.created_at_ms,
  d.event_seq,
  d.id,
  d.status,
  stateOf(d),
  d.event_type,
];
