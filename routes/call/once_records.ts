import { Fault, type FaultCode } from "../../core/fault/fault.ts";
import type { Sealer } from "../../core/codec/codec.ts";
import type { KeyRecords } from "../../core/work/work.ts";
import { Accepted } from "../../core/identity/identity.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import {
  type Idempotency,
  type IdempotencyRecord,
  idempotencyRecords,
} from "../../kv/records/idempotency.ts";
import { DAY_MS } from "../../kv/store/durations.ts";
import type { Relay } from "../../core/relay.ts";
import type { RawInput } from "./call.ts";
import { recordUse } from "./records.ts";
import type { Route } from "./route.ts";

const KEPT_MS = DAY_MS;
/** The largest answer that is kept. Sealed, it still fits into one value of the store. */
const ANSWER_BYTES_MAX = 40 * 1024;

/** A call that happens once for its key. */
export interface KeyedCall extends Idempotency {
  readonly relay: Relay;
  readonly route: Route;
  readonly actor: Actor;
  readonly request: RequestInfo;
  readonly input: RawInput;
}

/** The idempotency keys of calls, which their records hold for a day. */
export const ANSWER_KEYS: KeyRecords<IdempotencyRecord> = {
  of: idempotencyRecords,
  index: "key",
  idempotencyOf: (record) => record,
  details: () => ({}),
};

/** The record of a call that begins. */
export const begin = ({ relay, actor, key, digest }: KeyedCall): IdempotencyRecord => ({
  id: relay.ports.entropy.id("idm"),
  actor: actor.id,
  key,
  digest,
  outcome: "begun",
  sealed: null,
  expires_at_ms: relay.ports.clock.now() + KEPT_MS,
});

/** The record with the call's answer, or its fault, sealed. */
export function answered(
  { sealer }: { readonly sealer: Sealer },
  record: IdempotencyRecord,
  result: unknown,
): IdempotencyRecord {
  const [outcome, value] = result instanceof Fault
    ? ["fault", { code: result.code, message: result.message, details: result.details }] as const
    : result instanceof Accepted
    ? ["accepted", result.value] as const
    : ["result", result ?? null] as const;
  const json = JSON.stringify(value);
  const small = new TextEncoder().encode(json).length <= ANSWER_BYTES_MAX;
  return { ...record, outcome, sealed: small ? sealer.seal(json, record.id) : null };
}

/** Answers as the first call of this key did. @throws {Fault} that call's, or CONFLICT */
export async function replay(
  { relay, route, actor, request }: KeyedCall,
  { id, outcome, sealed }: IdempotencyRecord,
): Promise<unknown> {
  if (outcome === "begun") {
    throw new Fault(
      "CONFLICT",
      "A call with this idempotency key began, but its outcome is unknown. Check what it did " +
        "before you repeat it with a new key.",
    );
  }
  const value = sealed === null ? undefined : JSON.parse(relay.sealer.open(sealed, id));
  const fault = outcome === "fault" && value !== undefined ? faultFrom(value) : null;
  const status = fault?.status ?? (outcome === "accepted" ? 202 : route.success.status);
  await recordUse(relay, route, actor, request, status);
  if (fault !== null) throw fault;
  if (value === undefined) {
    throw new Fault(
      "CONFLICT",
      "This call was already made, but its response was too large to keep.",
    );
  }
  return outcome === "accepted" ? new Accepted(value) : value;
}

interface KeptFault {
  readonly code: FaultCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const faultFrom = ({ code, message, details }: KeptFault) => new Fault(code, message, details);
