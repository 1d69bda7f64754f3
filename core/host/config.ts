import { SYSTEM } from "../../kv/store/collection.ts";
import { organizations } from "../../kv/records/organization.ts";
import type { App, Stepping, Work } from "../work/work.ts";
import { emit } from "../events/events.ts";
import { planLimit } from "../access/limits/kinds.ts";
import { iso } from "../codec/instant.ts";
import { seedPlans } from "./plans/seed.ts";
import { type Settings, shownLocation } from "../work/settings.ts";
import { changesOf, leavesOf, masked, readConfiguration, toldOf } from "./configuration.ts";

/** A value in force and where it comes from. */
interface Shown {
  readonly path: string;
  readonly value: unknown;
  readonly source: "default" | "file" | "environment" | "plan" | "override" | "configuration";
  /** What it takes to change it. */
  readonly changes_by: "reload" | "restart" | "host";
}

/** The values in force: the host sees all of them, another organization its own limits. */
export async function showConfig({ app, db, actor }: Work) {
  const { loadedAtMs } = app.configuration();
  const values = configured(app);
  const loaded_at = iso(loadedAtMs);
  if (actor.host) return { values: [...settingsOf(app.settings), ...values], loaded_at };
  const organization = await db.get(organizations, SYSTEM, actor.tenant.org);
  const own: Shown[] = values.filter(({ path }) => /^limits\.(live|test)\./.test(path))
    .map((shown) => ({ ...shown, source: "configuration", changes_by: "host" }));
  if (organization !== null) {
    const { limit, source } = planLimit(app.config(), organization, actor.planPerMinute);
    const path = "plan.requests_per_minute";
    own.push({ path, value: limit, source, changes_by: "host" });
  }
  return { values: own, loaded_at };
}

/**
 * Reads the configuration again and puts it in force, whole or not at all; answers what is different.
 * @throws {Fault} VALIDATION_FAILED with the path of each fault; the old one stays
 */
export function reloadConfig(work: Stepping): ReturnType<typeof reload> {
  // One after the other: whoever read the file last is in force at the end.
  const earlier = reloading.get(work.app) ?? Promise.resolve();
  const mine = earlier.catch(() => {}).then(() => reload(work));
  reloading.set(work.app, mine);
  return mine;
}

const reloading = new WeakMap<App, Promise<unknown>>();

async function reload(work: Stepping) {
  const { app, actor } = work;
  const before = app.configuration();
  const next = readConfiguration(app.settings.configSource, app.ports.clock.now());
  const changes = changesOf(leavesOf(before.config), leavesOf(next.config));
  // A plan that is named must be there before anybody can be given it.
  await seedPlans(app, next.config);
  await app.store.transact((tx) => {
    emit(work, tx, actor.tenant, {
      type: "config_reloaded",
      resource: { type: "configuration", id: "configuration" },
      details: { changes: toldOf(changes), changes_total: changes.length },
    });
    work.recordUse(tx, 200);
    tx.afterCommit(() => app.putInForce(next));
  });
  return {
    changes: changes.map((change) => ({ ...change, in_force: "now" as const })),
    loaded_at: iso(next.loadedAtMs),
  };
}

/** What the configuration says, and what it leaves to the defaults. */
function configured(app: App): Shown[] {
  const { config, said } = app.configuration();
  const given = leavesOf(said);
  const source = app.settings.configSource.kind;
  return [...leavesOf(config)].map(([path, value]) => ({
    path,
    value: masked(path, value),
    source: given.has(path) && source !== "none" ? source : "default",
    changes_by: "reload",
  }));
}

/** What only the environment says. */
function settingsOf(settings: Settings): Shown[] {
  const { host, port, kv, secret, olderSecrets, publicUrl, signup, tls, environment } = settings;
  const values: Record<string, unknown> = {
    RELAY_HOST: host,
    RELAY_PORT: port,
    RELAY_KV: kv === null ? null : shownLocation(kv),
    RELAY_SECRET: secret,
    RELAY_SECRET_OLD: olderSecrets.length === 0 ? null : olderSecrets.length,
    RELAY_PUBLIC_URL: publicUrl,
    RELAY_SIGNUP: signup,
    RELAY_TLS_CERT: tls === null ? null : "set",
    RELAY_TLS_KEY: tls === null ? null : "set",
    RELAY_CONFIG: settings.configSource.path,
  };
  return Object.entries(values).map(([path, value]) => ({
    path,
    value: masked(path, value),
    source: environment.includes(path) ? "environment" : "default",
    changes_by: "restart",
  }));
}
