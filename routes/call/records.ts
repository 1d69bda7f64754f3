import { emit, keyUseJson } from "../../core/events/events.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import type { Context } from "../../core/context/context.ts";
import type { Appending } from "../../kv/log/appends.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Route } from "./route.ts";

/** What writing to the log needs. */
type Log = Pick<Context, "store" | "ports" | "signals">;

/** An endpoint as the log names it. */
export type Endpoint = Pick<Route, "method" | "path">;

const NO_USE = Promise.resolve();

/** Method and path pattern. The query stays out of logs and audit rows, because it may hold secrets. */
const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

/** Records the use of an API key durably; does nothing for other callers. */
export function recordUse(
  { store, ports }: Pick<Log, "store" | "ports">,
  endpoint: Endpoint,
  actor: Actor,
  request: RequestInfo,
  status: number,
): Promise<void> {
  if (actor.kind !== "api_key") return NO_USE;
  const row = keyUseJson({ ports, actor, request }, actor.tenant, nameOf(endpoint), status);
  return store.append(actor.tenant, "api_key_used", row, request.trace);
}

/** Records the use of an API key in a commit that is made anyway; does nothing for other callers. */
export function appendUse(
  { ports }: Pick<Log, "ports">,
  endpoint: Endpoint,
  actor: Actor,
  request: RequestInfo,
  to: Appending,
  status: number,
): void {
  if (actor.kind !== "api_key") return;
  const row = keyUseJson({ ports, actor, request }, actor.tenant, nameOf(endpoint), status);
  to.append(actor.tenant, "api_key_used", row);
}

/** Records a refusal with 403 and the use of the key, unless `used` says that the use is recorded. */
export async function recordDenial(
  log: Log,
  endpoint: Endpoint,
  actor: Actor,
  request: RequestInfo,
  reason: Readonly<Record<string, unknown>>,
  used = false,
): Promise<void> {
  const { store, ports, signals } = log;
  await store.transact((tx) => {
    emit({ ports, signals, actor, request }, tx, actor.tenant, {
      type: "access_denied",
      resource: { type: "endpoint", id: nameOf(endpoint) },
      details: { ...reason, endpoint: nameOf(endpoint) },
    });
    if (!used) appendUse(log, endpoint, actor, request, tx, 403);
  }, request.trace);
}

/** Writes the audit event that a route declares, in the transaction of its change. */
export function writeAudit(
  { ports, signals }: Pick<Log, "ports" | "signals">,
  { audit }: Route,
  actor: Actor,
  request: RequestInfo,
  tx: Tx,
  result: unknown,
  input: unknown,
): void {
  if (audit === undefined || !("event" in audit)) return;
  emit({ ports, signals, actor, request }, tx, actor.tenant, {
    type: audit.event,
    resource: { type: audit.resource, id: audit.id(result, input) },
    agentId: audit.agentId?.(result) ?? undefined,
    details: audit.details(result, input, actor),
  });
}
