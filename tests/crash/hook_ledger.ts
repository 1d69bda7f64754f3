import type { Tenant } from "../../kv/store/collection.ts";
import {
  attemptId,
  deliveries,
  deliveryAttempts,
  type DeliveryRecord,
  stateOf,
} from "../../kv/records/webhook.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Page } from "../../kv/store/reader.ts";
import { LEDGER_STATES, readLedger } from "../../core/delivery/webhooks/ledger.ts";
import type { HookKind, HookReceivers } from "./hook_receivers.ts";

/** What the callers of an organization were told, and where it had to go. */
export interface Expected {
  readonly id: string;
  /** Texts of the commands whose refusal was answered: each is one event. */
  readonly acknowledged: ReadonlySet<string>;
  /** Every webhook by id. Those of a good receiver are counted there. */
  readonly webhooks: ReadonlyMap<string, HookKind>;
}

/** What a stopped relay's store says of its deliveries. */
export interface Findings {
  readonly faults: string[];
  readonly states: Readonly<Record<string, number>>;
  /** Times that a good receiver got a delivery again. */
  readonly repeats: number;
  /** Attempts for good receivers that a crash cut off: as many were in flight. */
  readonly lost: number;
}

/** Looks through all deliveries for what is missing, there twice or counted wrongly. */
export async function examineDeliveries(
  store: Store,
  organizations: readonly Expected[],
  { came, accepted }: Pick<HookReceivers, "came" | "accepted">,
): Promise<Findings> {
  const faults: string[] = [];
  const seen = new Set<string>();
  const states: Record<string, number> = Object.fromEntries(LEDGER_STATES.map((s) => [s, 0]));
  let repeats = 0, lost = 0;
  for (const { id: org, acknowledged, webhooks } of organizations) {
    const tenant: Tenant = { org, space: "live" };
    for await (const delivery of allDeliveries(store, tenant)) {
      const { id, webhook_id, attempt, body } = delivery;
      const state = stateOf(delivery);
      states.accepted!++;
      states[state]!++;
      const place = `${webhook_id} ${JSON.parse(body).payload.command}`;
      if (seen.has(place)) faults.push(`${place} has two deliveries`);
      seen.add(place);
      const arrived = came.get(id) ?? 0;
      if (arrived > attempt) faults.push(`${id} came ${arrived} times in ${attempt} attempts`);
      if (webhooks.get(webhook_id) !== "good") continue;
      if (state === "delivered" && !accepted.has(id)) faults.push(`${id} never came`);
      repeats += Math.max(0, arrived - 1);
      const cut = await lostAttempts(store, tenant, delivery);
      if (arrived > 1 + cut) {
        faults.push(`${id} came ${arrived} times, ${cut} attempts were cut off`);
      }
      lost += cut;
    }
    for (const id of webhooks.keys()) {
      for (const command of acknowledged) {
        if (!seen.has(`${id} ${command}`)) faults.push(`${command} has no delivery for ${id}`);
      }
    }
  }
  const ledger = await readLedger(store);
  for (const state of LEDGER_STATES) {
    if (ledger[state] === states[state]) continue;
    faults.push(`the ledger says ${ledger[state]} ${state}, there are ${states[state]}`);
  }
  return { faults, states, repeats, lost };
}

async function* allDeliveries(store: Store, tenant: Tenant): AsyncGenerator<DeliveryRecord> {
  let cursor: string | null = null;
  do {
    const page: Page<DeliveryRecord> = await store.list(deliveries, tenant, { limit: 500, cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}

/** How many attempts of a delivery ended with their process. */
async function lostAttempts(
  store: Store,
  tenant: Tenant,
  { id, attempt, status, error }: DeliveryRecord,
): Promise<number> {
  let lost = status === "sending" || error === "lost" ? 1 : 0;
  for (let number = 1; number < attempt; number++) {
    const row = await store.get(deliveryAttempts, tenant, attemptId(id, number));
    if (row?.error === "lost") lost++;
  }
  return lost;
}
