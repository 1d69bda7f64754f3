import { Accepted } from "../../core/work/accepted.ts";
import { notifyOfOldValue } from "../../core/access/keys/old_value.ts";
import type { Actor, App, RequestInfo } from "../../core/work/work.ts";
import { emit, useJson } from "../../core/events/events.ts";
import { Fault } from "../../core/fault/fault.ts";
import type { Scope } from "../../core/work/scopes.ts";
import type { Appending } from "../../kv/log/appends.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { faultOf } from "./answer.ts";
import { authenticatorFor, identifyAgain } from "../http/identify.ts";
import { parse, parseNoQuery } from "./input.ts";
import type { Route } from "./route.ts";

/** Input as it came, before any check. */
export interface RawInput {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Reads the body; called only when the route takes one. */
  readonly body: () => unknown;
  /** The body as it came, once it was read; only over HTTP. */
  readonly bodyText?: () => string;
  readonly accept: string;
  /** By which it is found out again who asks, once the body is there; only over HTTP. */
  readonly headers?: Headers;
}

/**
 * The one path from any transport to a rule: check the input, run the rule, write the audit trail. The
 * record of a key's use is durable before this answers, also when it answers by throwing.
 * @throws {Fault} and whatever is a bug
 */
export async function call(
  app: App,
  route: Route,
  caller: Actor,
  request: RequestInfo,
  raw: RawInput,
): Promise<unknown> {
  let actor = caller;
  try {
    const input = {
      params: route.params && parse(route.params, raw.params, "params"),
      query: route.query ? parse(route.query, raw.query, "query") : parseNoQuery(raw.query),
      body: route.body && parse(route.body, await raw.body(), "body"),
      bodyText: raw.bodyText?.() ?? "",
      accept: raw.accept,
    };
    // Whoever holds a body back gets no more from it than the rights of when it was there.
    if (route.body && raw.headers && caller.kind !== "anonymous") {
      actor = await identifyAgain(app, raw.headers, authenticatorFor(route));
      const missing = missingRights(route, actor);
      if (missing !== null) throw lacking(actor, missing);
    }
    return await EFFECTS[route.effect](app, route, actor, request, input as never);
  } catch (error) {
    const used = error instanceof Recorded;
    const cause = used ? error.cause : error;
    await recordFailure(app, route, actor, request, faultOf(cause), used);
    throw cause;
  }
}

/** Puts a refusal on record, and the use of a key that is not yet. */
async function recordFailure(
  app: App,
  route: Route,
  actor: Actor,
  request: RequestInfo,
  fault: Fault | null,
  used: boolean,
): Promise<void> {
  // Of a blocked command there is the shield's own event.
  const denied = fault?.status === 403 && fault.code !== "COMMAND_BLOCKED";
  if (denied && actor.kind !== "anonymous") {
    const { required } = fault.details;
    await recordDenial(
      app,
      route,
      actor,
      request,
      required === undefined ? {} : { required },
      used,
    );
  } else if (!used) await recordUse(app, route, actor, request, fault?.status ?? 500);
}

/** What a rule may use of a relay. */
const contextOf = (app: App) => ({
  app,
  store: app.store,
  log: app.log,
  ports: app.ports,
  config: app.config,
  sealer: app.sealer,
  signals: app.signals,
});

const NO_USE = Promise.resolve();

type Endpoint = Pick<Route, "method" | "path">;

/** The rights of which one would do and none is there, or null. */
export function missingRights(
  { access }: Pick<Route, "access">,
  actor: Actor,
): readonly Scope[] | null {
  if (!("scope" in access)) return null;
  const needed = typeof access.scope === "string" ? [access.scope] : access.scope;
  const has = needed.some((scope) => actor.rights.has(scope));
  return has && (!access.host || actor.host) ? null : needed;
}

/** Refuses, and puts the refusal on record. */
export async function deny(
  app: App,
  route: Endpoint,
  actor: Actor,
  request: RequestInfo,
  required: readonly Scope[],
): Promise<Fault> {
  await recordDenial(app, route, actor, request, { required: [...required] });
  return lacking(actor, required);
}

function lacking({ rights }: Actor, required: readonly Scope[]): Fault {
  const granted = [...rights];
  if (!required.some((scope) => rights.has(scope))) {
    const message = `This needs ${required.join(" or ")}.`;
    return new Fault("INSUFFICIENT_SCOPES", message, { required, granted });
  }
  const message = "Only the organization that runs this installation may do this.";
  return new Fault("INSUFFICIENT_SCOPES", message, { required, granted, host: true });
}

/** Refuses what the test space may not do, and puts the refusal on record. */
export async function denyTestSpace(
  app: App,
  route: Endpoint,
  actor: Actor,
  request: RequestInfo,
): Promise<Fault> {
  await recordDenial(app, route, actor, request, { space: "test" });
  return new Fault(
    "FORBIDDEN",
    "The test space may not do this. Use a live key, or sign in without X-Relay-Space: test.",
  );
}

async function recordDenial(
  app: App,
  route: Endpoint,
  actor: Actor,
  request: RequestInfo,
  why: Readonly<Record<string, unknown>>,
  used = false,
): Promise<void> {
  await app.store.transact((tx) => {
    emit({ ...contextOf(app), actor, request }, tx, actor.tenant, {
      type: "access_denied",
      resource: { type: "endpoint", id: endpointOf(route) },
      details: { ...why, endpoint: endpointOf(route) },
    });
    if (actor.kind === "api_key" && !used) appendUse(app, route, actor, request, tx, 403);
  });
}

/** Method and pattern, never the query: what logs and audit rows say. */
const endpointOf = (route: Endpoint): string => `${route.method} ${route.path}`;

/** A failure whose key use is on record already. */
class Recorded extends Error {}

type Run = (
  app: App,
  route: Route,
  actor: Actor,
  request: RequestInfo,
  input: never,
) => Promise<unknown>;

const EFFECTS: Readonly<Record<Route["effect"], Run>> = {
  async read(app, route, actor, request, input) {
    const work = { ...contextOf(app), actor, request, db: app.store };
    const result = await route.handle(work as never, input, app as never);
    await recordUse(app, route, actor, request, route.success.status);
    return result;
  },

  async write(app, route, actor, request, input) {
    return await app.store.transact(async (tx) => {
      const work = { ...contextOf(app), actor, request, db: tx, tx };
      const result = await route.handle(work as never, input, app as never);
      writeAudit(app, route, actor, request, tx, result, input);
      if (actor.kind === "api_key") {
        appendUse(app, route, actor, request, tx, route.success.status);
        await notifyOfOldValue({ ...contextOf(app), actor, request }, tx);
      }
      return result;
    });
  },

  async steps(app, route, actor, request, input) {
    let recorded = actor.kind !== "api_key";
    const use = (to: Appending, status: number) => {
      if (actor.kind !== "api_key" || recorded) return;
      appendUse(app, route, actor, request, to, status);
      to.afterCommit(() => recorded = true);
    };
    const work = { ...contextOf(app), actor, request, db: app.store, recordUse: use };
    try {
      const result = await route.handle(work as never, input, app as never);
      const status = result instanceof Accepted ? 202 : route.success.status;
      if (!recorded) await recordUse(app, route, actor, request, status);
      return result;
    } catch (error) {
      throw recorded ? new Recorded("", { cause: error }) : error;
    }
  },
};

/** Puts the use of an API key on record, durably. */
export function recordUse(
  app: App,
  route: Endpoint,
  actor: Actor,
  request: RequestInfo,
  status: number,
): Promise<void> {
  if (actor.kind !== "api_key") return NO_USE;
  const row = useJson(
    { ports: app.ports, actor, request },
    actor.tenant,
    endpointOf(route),
    status,
  );
  return app.store.append(actor.tenant, "api_key_used", row);
}

function appendUse(
  app: App,
  route: Endpoint,
  actor: Actor,
  request: RequestInfo,
  to: Appending,
  status: number,
): void {
  const row = useJson(
    { ports: app.ports, actor, request },
    actor.tenant,
    endpointOf(route),
    status,
  );
  to.append(actor.tenant, "api_key_used", row);
}

function writeAudit(
  app: App,
  { audit }: Route,
  actor: Actor,
  request: RequestInfo,
  tx: Tx,
  result: unknown,
  input: unknown,
): void {
  if (audit === undefined || !("event" in audit)) return;
  emit({ ...contextOf(app), actor, request }, tx, actor.tenant, {
    type: audit.event,
    resource: { type: audit.resource, id: audit.id(result, input) },
    agentId: audit.agentId?.(result) ?? undefined,
    details: audit.details(result, input, actor),
  });
}
