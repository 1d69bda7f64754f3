import type { Actor, App, RequestInfo, Writing } from "../core/app.ts";
import { canonicalJson } from "../core/canonical.ts";
import { Fault } from "../core/fault.ts";
import { sha256Hex } from "../core/text.ts";
import { DuplicateError } from "../kv/errors.ts";
import { type IdempotencyRecord, idempotencyRecords } from "../kv/records/idempotency.ts";
import { recordUse } from "../routes/_call.ts";
import type { Route } from "../routes/_route.ts";
import type { Params } from "./rpc.ts";

const KEPT_MS = 24 * 60 * 60 * 1000;
/** A sealed answer stays within one value of the store. */
const ANSWER_CHARS_MAX = 10_000;
const KEY = /^[\x21-\x7e]{1,255}$/;

interface Context {
  readonly app: App;
  readonly actor: Actor;
  readonly info: RequestInfo;
}

/**
 * Makes a change once for a caller's key: the answer is on record in the change's own commit, and whoever
 * asks again, or at the same time, gets that one.
 * @throws {Fault} CONFLICT when the key was used for something else, and whatever the change throws
 */
export async function once(
  context: Context,
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
  const digest = digestOf(route, args);
  const earlier = await find(context, key);
  if (earlier !== null) return await replay(context, route, earlier, digest);
  try {
    return await change(recording(context, route, key, digest));
  } catch (error) {
    // Whatever went wrong: a twin that was faster may have changed what this one then found.
    const winner = await find(context, key);
    if (winner === null) throw error;
    return await replay(context, route, winner, digest);
  }
}

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

const find = ({ app, actor }: Context, key: string) =>
  app.store.find(idempotencyRecords, actor.tenant, "key", [actor.id, key]);

async function replay(
  { app, actor, info }: Context,
  route: Route,
  { id, digest: earlier, sealed }: IdempotencyRecord,
  digest: string,
): Promise<unknown> {
  if (earlier !== digest) {
    throw new Fault("CONFLICT", "This idempotency key was used for another call.");
  }
  await recordUse(app, route, actor, info, route.success.status);
  if (sealed !== null) return JSON.parse(app.sealer.open(sealed, id));
  throw new Fault("CONFLICT", "This was done already; its answer was too large to be kept.");
}

/** The same route, whose change also puts its answer on record. */
function recording({ app, actor }: Context, route: Route, key: string, digest: string): Route {
  return {
    ...route,
    async handle(work: never, input: never) {
      const { tx } = work as Writing;
      // A twin may have been faster: its change would make this one fail, or happen twice.
      const twin = await tx.find(idempotencyRecords, actor.tenant, "key", [actor.id, key]);
      if (twin !== null) throw new DuplicateError("idempotency", "key");
      const result = await route.handle(work, input);
      const json = JSON.stringify(result ?? null);
      const id = app.ports.entropy.id("idm");
      tx.insert(idempotencyRecords, actor.tenant, {
        id,
        actor: actor.id,
        key,
        digest,
        sealed: json.length > ANSWER_CHARS_MAX ? null : app.sealer.seal(json, id),
        expires_at_ms: app.ports.clock.now() + KEPT_MS,
      });
      return result;
    },
  };
}
