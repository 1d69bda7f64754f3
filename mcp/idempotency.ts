import { Accepted } from "../core/work/accepted.ts";
import type { Relay } from "../core/start.ts";
import type { Actor, RequestInfo, Writing } from "../core/work/work.ts";
import { canonicalJson } from "../core/codec/canonical.ts";
import { Fault, type FaultCode } from "../core/fault/fault.ts";
import { sha256Hex } from "../core/codec/text.ts";
import { DuplicateError } from "../kv/store/errors.ts";
import { commands } from "../kv/records/command.ts";
import { type IdempotencyRecord, idempotencyRecords } from "../kv/records/idempotency.ts";
import { faultOf } from "../routes/call/fault_of.ts";
import { recordUse } from "../routes/call/records.ts";
import type { Route } from "../routes/call/route.ts";
import type { Params } from "./rpc.ts";

const KEPT_MS = 24 * 60 * 60 * 1000;
/** What can be sealed at once, and sealed stays within one value of the store. */
const ANSWER_BYTES_MAX = 40 * 1024;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** A call that is to happen once. */
interface Call {
  readonly relay: Relay;
  readonly actor: Actor;
  readonly info: RequestInfo;
  readonly route: Route;
  readonly key: string;
  readonly digest: string;
}

/**
 * Makes a change once for a caller's key: whoever asks again, or at the same time, gets the first answer.
 * `change` makes it by the route that it is given.
 * @throws {Fault} CONFLICT when the key was used for something else, and whatever the change throws
 */
export async function once(
  { relay, actor, info }: Pick<Call, "relay" | "actor" | "info">,
  route: Route,
  key: string,
  args: Params,
  change: (route: Route) => Promise<unknown>,
): Promise<unknown> {
  if (!KEY.test(key)) {
    throw new Fault("VALIDATION_FAILED", "An idempotency key has 1 to 255 visible characters.", {
      issues: [{ path: "idempotency_key", message: "1 to 255 visible ASCII characters" }],
    });
  }
  const call: Call = { relay, actor, info, route, key, digest: digestOf(route, args) };
  for (let looked = "";;) {
    const earlier = await find(call);
    if (earlier === null) break; // a refused one gives its key back
    if (earlier.digest !== call.digest) throw usedForAnother();
    const running = underWay(relay).get(earlier.id);
    // One that was under way when it was read, and is no more, has an end by now.
    const over = running === undefined && looked === earlier.id;
    if (earlier.outcome !== "begun" || over) return await replay(call, earlier);
    looked = earlier.id;
    await running;
  }
  if (route.idempotencyKey) return await change(route); // its rule does the rest
  const command = await relay.store.find(commands, actor.tenant, "idempotency", [actor.id, key]);
  if (command !== null) throw usedForAnother({ command_id: command.id });
  try {
    return route.effect === "write" ? await inOneCommit(call, change) : await inSteps(call, change);
  } catch (error) {
    if (!(error instanceof TwinWasFaster)) throw error;
    return await once(call, route, key, args, change);
  }
}

/** Somebody else has the key since it was looked for. */
class TwinWasFaster extends Error {}

/** What was asked, in 64 characters. @throws {Fault} VALIDATION_FAILED for what has no canonical form */
export function digestOf(route: Route, args: Params): string {
  try {
    return sha256Hex(`${route.id}\n${canonicalJson(args)}`);
  } catch (cause) {
    throw new Fault("VALIDATION_FAILED", "The arguments nest too deep or hold half characters.", {
      issues: [{ path: "arguments", message: "nest too deep or hold half characters" }],
    }, { cause });
  }
}

const find = ({ relay, actor, key }: Call) =>
  relay.store.find(idempotencyRecords, actor.tenant, "key", [actor.id, key]);

/** The answer is on record in the change's own commit. */
async function inOneCommit(
  call: Call,
  change: (route: Route) => Promise<unknown>,
): Promise<unknown> {
  const { actor, route, key } = call;
  const recording: Route = {
    ...route,
    async handle(work: never, input: never, relay: never) {
      const { tx } = work as Writing;
      // A twin may have been faster: its change would make this one fail, or happen twice.
      const twin = await tx.find(idempotencyRecords, actor.tenant, "key", [actor.id, key]);
      if (twin !== null) throw new DuplicateError("idempotency", "key");
      const result = await route.handle(work, input, relay);
      const record = begin(call);
      tx.insert(idempotencyRecords, actor.tenant, { ...record, ...answer(relay, record, result) });
      return result;
    },
  };
  try {
    return await change(recording);
  } catch (error) {
    // Whatever went wrong: a twin that was faster may have changed what this one then found.
    throw await find(call) === null ? error : new TwinWasFaster();
  }
}

/** What runs in this process, by its record. */
const running = new WeakMap<Relay, Map<string, Promise<void>>>();

function underWay(relay: Relay): Map<string, Promise<void>> {
  let all = running.get(relay);
  if (all === undefined) running.set(relay, all = new Map());
  return all;
}

/** The key is taken before the first commit of several, so that a crash among them is no second run. */
async function inSteps(call: Call, change: (route: Route) => Promise<unknown>): Promise<unknown> {
  const { relay, actor, route } = call;
  const record = begin(call);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  underWay(relay).set(record.id, ended);
  try {
    await relay.store.transact((tx) => tx.insert(idempotencyRecords, actor.tenant, record))
      .catch((error) => {
        throw error instanceof DuplicateError ? new TwinWasFaster() : error;
      });
    const result = await change(route).catch(async (error) => {
      await concludeFailure(call, record, error);
      throw error;
    });
    await relay.store.transact((tx) =>
      tx.put(idempotencyRecords, actor.tenant, { ...record, ...answer(relay, record, result) })
    );
    return result;
  } finally {
    underWay(relay).delete(record.id);
    end();
  }
}

/** A refusal gives its key back; what a bug leaves behind nobody knows. */
async function concludeFailure({ relay, actor }: Call, record: IdempotencyRecord, error: unknown) {
  const fault = faultOf(error);
  if (fault === null) return;
  const refused = fault.status < 500 || fault.code === "UNAVAILABLE";
  await relay.store.transact((tx) => {
    if (refused) tx.delete(idempotencyRecords, actor.tenant, record.id);
    else tx.put(idempotencyRecords, actor.tenant, { ...record, ...answer(relay, record, fault) });
  });
}

const begin = ({ relay, actor, key, digest }: Call): IdempotencyRecord => ({
  id: relay.ports.entropy.id("idm"),
  actor: actor.id,
  key,
  digest,
  outcome: "begun",
  sealed: null,
  expires_at_ms: relay.ports.clock.now() + KEPT_MS,
});

/** How an end is kept. */
function answer(
  { sealer }: Relay,
  { id }: IdempotencyRecord,
  result: unknown,
): Pick<IdempotencyRecord, "outcome" | "sealed"> {
  const [outcome, value] = result instanceof Fault
    ? ["fault", { code: result.code, message: result.message, details: result.details }] as const
    : result instanceof Accepted
    ? ["accepted", result.value] as const
    : ["result", result ?? null] as const;
  const json = JSON.stringify(value);
  const small = new TextEncoder().encode(json).length <= ANSWER_BYTES_MAX;
  return { outcome, sealed: small ? sealer.seal(json, id) : null };
}

/** Gives what the first call of this key gave. @throws {Fault} that one's, or CONFLICT */
async function replay(call: Call, { id, outcome, sealed }: IdempotencyRecord): Promise<unknown> {
  const { relay, actor, info, route } = call;
  if (outcome === "begun") {
    throw new Fault(
      "CONFLICT",
      "A call with this key began, and its end is not known. Look at what it did before you make " +
        "it again under another key.",
    );
  }
  const value = sealed === null ? undefined : JSON.parse(relay.sealer.open(sealed, id));
  const fault = outcome === "fault" && value !== undefined ? faultFrom(value) : null;
  const status = fault?.status ?? (outcome === "accepted" ? 202 : route.success.status);
  await recordUse(relay, route, actor, info, status);
  if (fault !== null) throw fault;
  if (value === undefined) {
    throw new Fault("CONFLICT", "This was done already; its answer was too large to be kept.");
  }
  return outcome === "accepted" ? new Accepted(value) : value;
}

const faultFrom = (
  { code, message, details }: { code: FaultCode; message: string; details: Params },
) => new Fault(code, message, details);

const usedForAnother = (details: { readonly command_id?: string } = {}) =>
  new Fault("CONFLICT", "This idempotency key was used for another call.", details);
