import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { everyListed, everyQueued } from "../../../kv/store/iterate.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { standingReviews } from "../../../kv/records/standing.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { canonicalJson } from "../../codec/codec.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import { notifyAdministrators } from "../people/notify.ts";
import { homeOf } from "../roles/grant.ts";
import type { AnyStandingKind, StandingKind, StandingRecord } from "./kinds.ts";
import { suspensionOf } from "./suspension.ts";

const PAGE = 100;

type Needs = Pick<Context, "store" | "ports" | "signals">;

/**
 * Requests a review of everything that acts for people of an organization, because this commit changes rights of
 * some of them. It starts after the commit; after a crash housekeeping does it.
 */
export function stageReview(
  { ports, signals }: Pick<Context, "ports" | "signals">,
  tx: Tx,
  org: string,
): void {
  tx.put(standingReviews, homeOf(org), { id: "review", stamp: ports.entropy.id("rev") });
  tx.afterCommit(() => signals.rightsChanged.send({ org }));
}

/** Does the reviews that were interrupted by a crash. */
export async function sweepStandingReviews(
  context: Needs,
  kinds: readonly AnyStandingKind[],
): Promise<void> {
  const waiting = everyQueued(context.store, standingReviews, "all", { limit: PAGE });
  for await (const { tenant } of waiting) await reviewStanding(context, kinds, tenant.org);
}

/** Reviews everything that acts for people of an organization. */
export async function reviewStanding(
  context: Needs,
  kinds: readonly AnyStandingKind[],
  org: string,
): Promise<void> {
  const { store } = context;
  const home = homeOf(org);
  const seen = await store.get(standingReviews, home, "review");
  for (const space of ["live", "test"] as const) {
    const tenant = { org, space };
    for (const kind of kinds) {
      for await (const record of everyListed(store, kind.of, tenant, { limit: PAGE })) {
        await noteStanding(context, tenant, kind, record);
      }
    }
  }
  await store.transact(async (tx) => {
    const now = await tx.get(standingReviews, home, "review");
    if (now !== null && now.stamp === seen?.stamp) tx.delete(standingReviews, home, "review");
  });
}

/** Records each suspension and each return to work once; a suspension also notifies the administrators. */
export async function noteStanding<T extends StandingRecord>(
  context: Needs,
  tenant: Tenant,
  kind: StandingKind<T>,
  record: T,
): Promise<void> {
  const isRecorded = (one: T, suspension: unknown) =>
    canonicalJson(one.standing?.told ?? null) === canonicalJson(suspension);
  if (isRecorded(record, await suspensionOf(context.store, tenant, kind, record))) return;
  await context.store.transact(async (tx) => {
    const organization = await tx.get(organizations, SYSTEM, tenant.org);
    const found = await tx.get(kind.of, tenant, record.id);
    // An inactive organization stops everything anyway; that does not count as a suspension.
    if (found === null || !organization?.active) return;
    const suspension = await suspensionOf(tx, tenant, kind, found);
    if (isRecorded(found, suspension)) return;
    const adopted_by = found.standing?.adopted_by ?? null;
    tx.put(kind.of, tenant, { ...found, standing: { adopted_by, told: suspension } });
    const { name, id } = found;
    const resource = { type: kind.resource, id };
    const by = { ...context, actor: RELAY_ACTOR };
    if (suspension === null) {
      emit(by, tx, tenant, { type: "standing_resumed", resource, details: { name } });
      return;
    }
    const happening = {
      type: "standing_suspended",
      resource,
      details: { name, ...suspension },
    } as const;
    emit(by, tx, tenant, happening);
    await notifyAdministrators(context, tx, tenant, happening);
  });
}
