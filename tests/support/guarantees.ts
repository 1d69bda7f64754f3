import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { canonicalJson } from "../../core/codec/canonical.ts";
import type { Relay } from "../../core/relay.ts";
import { type EventRow, isOwnEvent, OWN_EVENTS } from "../../core/events/emit.ts";
import { FAULTS } from "../../core/fault/fault.ts";
import { readLedger } from "../../core/delivery/webhooks/ledger.ts";
import { auditTreeId, auditTrees } from "../../kv/records/audit.ts";
import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import type { Sequenced } from "../../kv/log/log.ts";
import { DELIVERY_STATES, type DeliveryRecord, stateOf } from "../../kv/records/webhook.ts";
import { faultsOf } from "../../routes/openapi/faults.ts";
import type { Route } from "../../routes/call/route.ts";
import { routes } from "../../routes/index.ts";
import type { Answer } from "./world.ts";

const ORDERED = [...routes].sort((a, b) => rank(a.path) < rank(b.path) ? -1 : 1);
const PATTERNS = new Map(ORDERED.map(({ path }) => [path, patternOf(path)]));

function rank(path: string): string {
  return path.replaceAll(/\{\w+\}/g, "~");
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

/** The declaration that a request meets, if any. */
export function routeOf(method: string, path: string): Route | undefined {
  const { pathname } = new URL(path, "http://localhost");
  return ORDERED.find((route) =>
    route.method === method && PATTERNS.get(route.path)!.test(pathname)
  );
}

/** Fails unless an answer is one that its route declares: status, every field, no other, and no other fault. */
export function assertDeclared(method: string, path: string, answer: Answer): void {
  const route = routeOf(method, path);
  const { status, body, headers } = answer;
  const where = `${method} ${path} answered ${status}`;
  for (const name of ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining"]) {
    ok(headers.get(name), `${where} without ${name}`);
  }
  if (status >= 400) return assertFault(route, answer, where);
  ok(route !== undefined, `${where}, which nobody declared`);
  const { success } = route;
  const isRedirect = status === 303 && "orLocation" in success && success.orLocation !== undefined;
  if (!isRedirect && (status !== 202 || !route.accepted)) eq(status, success.status, where);
  if (route.noStore) eq(headers.get("cache-control"), "no-store", where);
  if ("content" in success) {
    ok(success.content.includes(headers.get("content-type") ?? ""), `${where} with another type`);
  } else if ("body" in success && !isRedirect) {
    deq(success.body.parse(body), body, `${where} with fields that nobody declared`);
  } else eq(answer.text, "", where);
}

function assertFault(route: Route | undefined, { status, body, headers }: Answer, where: string) {
  if (body === null) return;
  deq(Object.keys(body), ["error"], where);
  const { code, message, details } = body.error;
  eq(FAULTS[code as keyof typeof FAULTS]?.status, status, `${where} ${code}`);
  ok(typeof message === "string" && message !== "", where);
  eq(details.request_id, headers.get("x-request-id"), where);
  if (route !== undefined) ok(faultsOf(route).includes(code), `${where} ${code}, undeclared`);
}

/** Every tenant that has a log. */
async function tenantsOf(kv: Deno.Kv): Promise<Tenant[]> {
  const tenants = new Map<string, Tenant>();
  for await (const { key } of kv.list({ prefix: [] })) {
    const [org, space, name] = key as [string, Tenant["space"], string];
    if (name === "log") tenants.set(tenantKey({ org, space }), { org, space });
  }
  return [...tenants.values()];
}

/** Fails unless every log is dense and canonical, and every event of a known type has that type's shape. */
export async function assertLogs(app: Relay): Promise<void> {
  for (const tenant of await tenantsOf(app.store.kv)) {
    const events = await app.log.read(tenant, 0, 1_000_000);
    const tree = await app.store.get(auditTrees, tenant, auditTreeId(tenant));
    const expired = tree?.expired ?? 0;
    deq(events.map(({ seq }) => seq), events.map((_, at) => expired + at + 1));
    eq(await app.log.head(tenant), expired + events.length);
    const ids = new Set(events.map((event) => assertRow(event, tenant)));
    eq(ids.size, events.length, "an event is in the log twice");
  }
}

/** What belongs to one agent: each event about it names that agent. */
const AGENT_RESOURCES = ["agent", "command", "approval", "backup", "restore"];

function assertRow({ type, json }: Sequenced, tenant: Tenant): string {
  const row = JSON.parse(json) as EventRow;
  eq(json, canonicalJson(row));
  eq(row.event_type, type);
  eq(row.organization_id, tenant.org);
  eq(new Date(Date.parse(row.timestamp)).toISOString(), row.timestamp);
  ok(row.actor && row.resource_id && row.resource_type, json);
  // An approval of a fleet command is about many agents, and its row says how many.
  if (AGENT_RESOURCES.includes(row.resource_type) && row.details.agents === undefined) {
    ok(row.agent_id, `${type} names no agent`);
  }
  if (row.resource_type === "external") {
    ok(!isOwnEvent(type) || type === "user_login", `${type} is Relay's own`);
    return row.event_id;
  }
  ok(isOwnEvent(type), `${type} is in no table`);
  const said = OWN_EVENTS[type]!.details.safeParse(row.details);
  ok(said.success, `${type} has another shape: ${said.error?.message} ${json}`);
  return row.event_id;
}

/** Fails unless every delivery that was accepted is in exactly one state, as the ledger counts them. */
export async function assertLedger({ store }: Relay): Promise<void> {
  const ledger = await readLedger(store);
  const { accepted, ...states } = ledger;
  eq(Object.values(states).reduce((sum, n) => sum + n, 0), accepted, JSON.stringify(ledger));
  const rows: Record<string, number> = {};
  for await (const { key, value } of store.kv.list<DeliveryRecord>({ prefix: [] })) {
    if (key[2] !== "deliveries") continue;
    const state = stateOf(value);
    rows[state] = (rows[state] ?? 0) + 1;
  }
  for (const state of DELIVERY_STATES) {
    const [counted, stored] = [ledger[state], rows[state] ?? 0];
    // Of what has ended, the log forgets the rows in time.
    const good = state === "pending" || state === "held" ? counted === stored : counted >= stored;
    ok(good, `${stored} deliveries are ${state}, and the ledger says ${counted}`);
  }
}
