import { notifyOfOldValue } from "../../core/access/access.ts";
import type { Relay } from "../../core/relay.ts";
import { Accepted } from "../../core/identity/identity.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import type { Appending } from "../../kv/log/appends.ts";
import { appendUse, recordUse, writeAudit } from "./records.ts";
import type { Effect, Route } from "./route.ts";

/** A failure of a call whose key use is recorded already. Its cause is the error. */
export class Recorded extends Error {}

type Run = (
  relay: Relay,
  route: Route,
  actor: Actor,
  request: RequestInfo,
  input: never,
) => Promise<unknown>;

/** The context that every rule gets. */
const contextOf = (relay: Relay) => ({
  app: relay,
  store: relay.store,
  log: relay.log,
  ports: relay.ports,
  config: relay.config,
  sealer: relay.sealer,
  signals: relay.signals,
});

/** How a rule of each effect runs, and when the use of the caller's key is recorded. */
export const EFFECTS: Readonly<Record<Effect, Run>> = {
  async read(relay, route, actor, request, input) {
    const work = { ...contextOf(relay), actor, request, db: relay.store };
    const result = await route.handle(work as never, input, relay as never);
    await recordUse(relay, route, actor, request, route.success.status);
    return result;
  },

  async write(relay, route, actor, request, input) {
    return await relay.store.transact(async (tx) => {
      const work = { ...contextOf(relay), actor, request, db: tx, tx };
      const result = await route.handle(work as never, input, relay as never);
      writeAudit(relay, route, actor, request, tx, result, input);
      if (actor.kind === "api_key") {
        appendUse(relay, route, actor, request, tx, route.success.status);
        await notifyOfOldValue({ ...contextOf(relay), actor, request }, tx);
      }
      return result;
    }, request.trace);
  },

  async steps(relay, route, actor, request, input) {
    let recorded = actor.kind !== "api_key";
    const use = (to: Appending, status: number) => {
      if (recorded) return;
      appendUse(relay, route, actor, request, to, status);
      to.afterCommit(() => recorded = true);
    };
    const work = { ...contextOf(relay), actor, request, db: relay.store, recordUse: use };
    try {
      const result = await route.handle(work as never, input, relay as never);
      const status = result instanceof Accepted ? 202 : route.success.status;
      if (!recorded) await recordUse(relay, route, actor, request, status);
      return result;
    } catch (error) {
      throw recorded ? new Recorded("", { cause: error }) : error;
    }
  },
};
