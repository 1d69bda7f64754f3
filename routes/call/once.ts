import type { Relay } from "../../core/relay.ts";
import { canonicalJson } from "../../core/codec/codec.ts";
import { Fault } from "../../core/fault/fault.ts";
import { COMMAND_KEYS, FLEET_KEYS } from "../../core/agents/agents.ts";
import {
  checkIdempotencyKey,
  digestOfCall,
  earlierCall,
  keyTaken,
  once,
  type Writing,
} from "../../core/work/work.ts";
import { type IdempotencyRecord, idempotencyRecords } from "../../kv/records/idempotency.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { call } from "./call.ts";
import { faultOf } from "./fault_of.ts";
import { ANSWER_KEYS, answered, begin, type KeyedCall, replay } from "./once_records.ts";
import type { Route } from "./route.ts";

/** The route and the arguments in 64 characters. @throws {Fault} VALIDATION_FAILED without a canonical form */
export function digestOf(route: Route, args: Readonly<Record<string, unknown>>): string {
  try {
    return digestOfCall(route.id, canonicalJson(args));
  } catch (cause) {
    const issue = "nest too deep or hold unpaired surrogates";
    throw new Fault("VALIDATION_FAILED", `The arguments ${issue}.`, {
      issues: [{ path: "arguments", message: issue }],
    }, { cause });
  }
}

/**
 * Makes a call that changes something, once for each key of a caller: a repetition, also one at the same time,
 * gets the first answer. `args` are the arguments as the caller sent them.
 * @throws {Fault} CONFLICT when the key was used for another call, and whatever the call throws
 */
export async function callOnce(
  args: Readonly<Record<string, unknown>>,
  unchecked: Omit<KeyedCall, "digest">,
): Promise<unknown> {
  checkIdempotencyKey(unchecked.key, "idempotency_key");
  const keyed = { ...unchecked, digest: digestOf(unchecked.route, args) };
  return await once(ANSWER_KEYS, {
    find: () => endedOrNull(keyed),
    repeat: (earlier) => replay(keyed, earlier),
    first: () => firstCall(keyed),
  });
}

/** @throws {DuplicateError} when a simultaneous call took the key, and what `callOnce` throws */
async function firstCall(keyed: KeyedCall): Promise<unknown> {
  const { relay, route, actor, request, input } = keyed;
  // The rule starts a command, which holds the key.
  if (route.idempotencyKey) return await call(relay, route, actor, request, input);
  // A command that holds the key has another digest, so this throws.
  await earlierCall(COMMAND_KEYS, relay.store, actor, keyed);
  await earlierCall(FLEET_KEYS, relay.store, actor, keyed);
  return route.effect === "write" ? await inOneCommit(keyed) : await inSteps(keyed);
}

/** The key's record once its call has ended; null for a new key, and after a refusal gave the key back. */
async function endedOrNull(keyed: KeyedCall): Promise<IdempotencyRecord | null> {
  for (let awaited = "";;) {
    const earlier = await find(keyed);
    if (earlier === null) return null;
    const running = runningIn(keyed.relay).get(earlier.id);
    // A call that was read as begun and no longer runs here has ended since, or its process died.
    const over = running === undefined && awaited === earlier.id;
    if (earlier.outcome !== "begun" || over) return earlier;
    awaited = earlier.id;
    await running;
  }
}

const find = (keyed: KeyedCall, db: Reader = keyed.relay.store) =>
  earlierCall(ANSWER_KEYS, db, keyed.actor, keyed);

/** Makes the call and records its answer in one commit. */
async function inOneCommit(keyed: KeyedCall): Promise<unknown> {
  const { relay, route, actor, request, input } = keyed;
  const recording: Route = {
    ...route,
    async handle(work: never, input: never, parts: never) {
      const { tx } = work as Writing;
      // The change must neither fail because of a faster repetition nor happen twice.
      if (await find(keyed, tx) !== null) throw keyTaken(ANSWER_KEYS);
      const result = await route.handle(work, input, parts);
      const record = begin(keyed);
      tx.insert(idempotencyRecords, actor.tenant, answered(relay, record, result));
      return result;
    },
  };
  try {
    return await call(relay, recording, actor, request, input);
  } catch (error) {
    // A faster repetition may have caused the error by changing what this call found.
    throw await find(keyed) === null ? error : keyTaken(ANSWER_KEYS);
  }
}

/** The calls of several commits that run in this process, by the id of their record. */
const running = new WeakMap<Relay, Map<string, Promise<void>>>();

function runningIn(relay: Relay): Map<string, Promise<void>> {
  let all = running.get(relay);
  if (all === undefined) running.set(relay, all = new Map());
  return all;
}

/** Takes the key before the call's first commit, so that a repetition after a crash does not run it again. */
async function inSteps(keyed: KeyedCall): Promise<unknown> {
  const { relay, route, actor, request, input } = keyed;
  const record = begin(keyed);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  runningIn(relay).set(record.id, ended);
  try {
    await relay.store.transact((tx) => tx.insert(idempotencyRecords, actor.tenant, record));
    const result = await call(relay, route, actor, request, input).catch(async (error) => {
      await endFailed(keyed, record, error);
      throw error;
    });
    await relay.store.transact((tx) =>
      tx.put(idempotencyRecords, actor.tenant, answered(relay, record, result))
    );
    return result;
  } finally {
    runningIn(relay).delete(record.id);
    end();
  }
}

/** A refusal gives its key back. After a bug the key stays begun, because what happened is unknown. */
async function endFailed(
  { relay, actor }: KeyedCall,
  record: IdempotencyRecord,
  error: unknown,
): Promise<void> {
  const fault = faultOf(error);
  if (fault === null) return;
  const refused = fault.status < 500 || fault.code === "UNAVAILABLE";
  await relay.store.transact((tx) => {
    if (refused) tx.delete(idempotencyRecords, actor.tenant, record.id);
    else tx.put(idempotencyRecords, actor.tenant, answered(relay, record, fault));
  });
}
