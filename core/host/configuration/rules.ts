import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import type { Stepping, Work } from "../../work/work.ts";
import type { Settings } from "../../context/context.ts";
import { emit } from "../../events/events.ts";
import { planLimit } from "../../access/access.ts";
import { iso } from "../../codec/codec.ts";
import { seedPlans } from "../plans/seed.ts";
import { type ActiveConfiguration, readConfiguration } from "./active.ts";
import { changesOf, leavesOf, masked, recordedChanges } from "./changes.ts";

/** Where the values in force come from. */
interface Sources {
  readonly configuration: ActiveConfiguration;
  readonly settings: Settings;
}

/** A value in force and where it comes from. */
interface Shown {
  readonly path: string;
  readonly value: unknown;
  readonly source: "default" | "file" | "environment" | "plan" | "override" | "configuration";
  /** How it can be changed. */
  readonly changes_by: "reload" | "restart" | "host";
}

/** The values in force. The host sees all of them, another organization its own limits. */
export async function showConfig(work: Work, { configuration, settings }: Sources) {
  const { db, actor } = work;
  const values = configured(configuration);
  const loaded_at = iso(configuration.current.loadedAtMs);
  if (actor.host) return { values: [...variablesOf(settings), ...values], loaded_at };
  const organization = await db.get(organizations, SYSTEM, actor.tenant.org);
  const own: Shown[] = values.filter(({ path }) => /^limits\.(live|test)\./.test(path))
    .map((shown) => ({ ...shown, source: "configuration", changes_by: "host" }));
  if (organization !== null) {
    const { limit, source } = planLimit(work.config(), organization, actor.planPerMinute);
    const path = "plan.requests_per_minute";
    own.push({ path, value: limit, source, changes_by: "host" });
  }
  return { values: own, loaded_at };
}

/**
 * Reads the configuration again and puts it in force, whole or not at all. Returns the differences.
 * @throws {Fault} VALIDATION_FAILED with the path of each fault; the old configuration stays in force
 */
export const reloadConfig = (work: Stepping, configuration: ActiveConfiguration) =>
  configuration.inTurn(() => reload(work, configuration));

async function reload(work: Stepping, configuration: ActiveConfiguration) {
  const before = configuration.current;
  const next = readConfiguration(configuration.source, work.ports.clock.now());
  const changes = changesOf(leavesOf(before.config), leavesOf(next.config));
  // Plans must exist before an account can be given one.
  await seedPlans(work.store, next.config);
  await work.store.transact((tx) => {
    emit(work, tx, work.actor.tenant, {
      type: "config_reloaded",
      resource: { type: "configuration", id: "configuration" },
      details: { changes: recordedChanges(changes), changes_total: changes.length },
    });
    work.recordUse(tx, 200);
    tx.afterCommit(() => configuration.replace(next));
  });
  return {
    changes: changes.map((change) => ({ ...change, in_force: "now" as const })),
    loaded_at: iso(next.loadedAtMs),
  };
}

/** Values of the configuration, including defaults. */
function configured(
  { current: { config, given }, source: { kind } }: ActiveConfiguration,
): Shown[] {
  const set = leavesOf(given);
  return [...leavesOf(config)].map(([path, value]) => ({
    path,
    value: masked(path, value),
    source: set.has(path) && kind !== "none" ? kind : "default",
    changes_by: "reload",
  }));
}

/** Values that only the environment sets. */
const variablesOf = ({ variables }: Settings): Shown[] =>
  variables.map(({ name, value, given }) => ({
    path: name,
    value: masked(name, value),
    source: given ? "environment" : "default",
    changes_by: "restart",
  }));
