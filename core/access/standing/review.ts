import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { everyListed, everyQueued } from "../../../kv/store/pages.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { standingReviews } from "../../../kv/records/standing.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import { canonicalJson } from "../../codec/canonical.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import { notifyAdministrators } from "../people/notify.ts";
import { homeOf } from "../roles/grant.ts";
import {
  INGEST_TOKEN,
  INTEGRATION,
  REPOSITORY,
  type StandingKind,
  type StandingRecord,
  WEBHOOK,
} from "./kinds.ts";
import { suspensionOf } from "./suspension.ts";

const PAGE = 100;

/**
 * Has everything that acts for people of an organization looked at, because rights of some of them change with
 * this commit. A crash leaves that to the housekeeping.
 */
export function stageReview(app: App, tx: Tx, org: string): void {
  const home = homeOf(org);
  tx.put(standingReviews, home, { id: "review", stamp: app.ports.entropy.id("rev") });
  tx.afterCommit(() => {
    app.background.run("reviewing what acts for people", () => review(app, home));
  });
}

/** Does the reviews that a crash left. */
export async function sweepReviews(app: App): Promise<void> {
  for await (const { tenant } of everyQueued(app.store, standingReviews, "all", { limit: PAGE })) {
    await review(app, tenant);
  }
}

async function review(app: App, home: Tenant): Promise<void> {
  const seen = await app.store.get(standingReviews, home, "review");
  for (const space of ["live", "test"] as const) {
    const tenant = { org: home.org, space };
    await reviewKind(app, tenant, REPOSITORY);
    await reviewKind(app, tenant, WEBHOOK);
    await reviewKind(app, tenant, INTEGRATION);
    await reviewKind(app, tenant, INGEST_TOKEN);
  }
  await app.store.transact(async (tx) => {
    const now = await tx.get(standingReviews, home, "review");
    if (now !== null && now.stamp === seen?.stamp) tx.delete(standingReviews, home, "review");
  });
}

async function reviewKind<T extends StandingRecord>(
  app: App,
  tenant: Tenant,
  kind: StandingKind<T>,
): Promise<void> {
  for await (const record of everyListed(app.store, kind.of, tenant, { limit: PAGE })) {
    await noteStanding(app, tenant, kind, record);
  }
}

/**
 * Puts on record that something was suspended, and tells the administrators, or that it works again: once for
 * each change.
 */
export async function noteStanding<T extends StandingRecord>(
  app: App,
  tenant: Tenant,
  kind: StandingKind<T>,
  record: T,
): Promise<void> {
  const isTold = (one: T, suspension: unknown) =>
    canonicalJson(one.standing?.told ?? null) === canonicalJson(suspension);
  if (isTold(record, await suspensionOf(app.store, tenant, kind, record))) return;
  await app.store.transact(async (tx) => {
    const organization = await tx.get(organizations, SYSTEM, tenant.org);
    const found = await tx.get(kind.of, tenant, record.id);
    // Nothing acts in an organization that is off, and that is nobody's suspension.
    if (found === null || !organization?.active) return;
    const suspension = await suspensionOf(tx, tenant, kind, found);
    if (isTold(found, suspension)) return;
    const adopted_by = found.standing?.adopted_by ?? null;
    tx.put(kind.of, tenant, { ...found, standing: { adopted_by, told: suspension } });
    const { name, id } = found;
    const resource = { type: kind.resource, id };
    const by = { ...app, actor: RELAY_ACTOR };
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
    await notifyAdministrators(app, tx, tenant, happening);
  });
}
