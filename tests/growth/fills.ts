import { strictEqual as equal } from "node:assert/strict";
import { countAgent } from "../../core/agents/count.ts";
import { activate } from "../../core/policies/activate.ts";
import { candidateOf } from "../../core/policies/plan.ts";
import { eventJson } from "../../core/events/events.ts";
import { agents } from "../../kv/records/agent.ts";
import { repositories } from "../../kv/records/gitops.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { fillLog } from "../bench/log/fill.ts";
import type { GrownRelay } from "./relay.ts";

/** The first organization, whose requests are measured. */
export interface Owner {
  readonly org: string;
  readonly userId: string;
  readonly token: string;
  readonly key: string;
}

/** One event in this many has this actor. */
const RARE = 10_000;
export const RARE_ACTOR = "usr_rare";
/** Between two events of a filled log, in ms. */
export const EVENT_GAP_MS = 20;
const IDS_MAX = 500;
/** No more sign-ups are served at once, and no more fit into a commit. */
const AT_ONCE = 32;
/** No organization may have more policy files in force, or more rules in one of them than fit. */
const FILES_MAX = 20;

export const tenantOf = ({ org }: Owner): Tenant => ({ org, space: "live" });

const accountOf = (n: number) => ({ email: `a${n}@example.com`, password: "correct horse 7" });

/** The host organization with a key. */
export async function signUp(relay: GrownRelay, n = 0): Promise<Owner> {
  const account = {
    email: `a${n}@example.com`,
    password: "correct horse 7",
    organization: `A${n}`,
  };
  const { token, user, organization } = await relay.call(null, "POST", "/api/v1/signup", account);
  const scopes = [
    "agents:admin",
    "agents:read",
    "agents:write",
    "policy:read",
    "system:read",
    "system:write",
  ];
  const { key } = await relay.call(token, "POST", "/api/v1/api-keys", { name: "growth", scopes });
  return { org: organization.id, userId: user.id, token, key };
}

/** The host organization with a new session. */
export async function signIn(relay: GrownRelay, owner: Owner): Promise<Owner> {
  return { ...owner, token: (await relay.call(null, "POST", "/api/v1/login", accountOf(0))).token };
}

/** Agents whose links a relay held that died. */
export async function fillAgents({ app }: GrownRelay, owner: Owner, count: number): Promise<void> {
  const atMs = app.ports.clock.now() - 600_000;
  await inBatches(count, (from, to) =>
    app.store.transact((tx) => {
      for (let n = from; n < to; n++) {
        tx.insert(agents, tenantOf(owner), {
          ...{ id: app.ports.entropy.id("agt"), name: `machine-${n}`, display_name: null },
          ...{ status: "online", reported_status: null, reported_at_ms: null, version: "0.1.0" },
          ...{ platform: "linux-x86_64", hostname: `machine-${n}`, program: null },
          ...{ labels: { rack: `${n % 100}` }, reported_labels: { rack: `${n % 100}` } },
          ...{ relay_labels: {}, policy_version: null, verdict_key: null, witnessed: null },
          ...{ public_key: `key of ${n}`, credential_id: "key_growth", instance: "ins_died" },
          ...{ link: 1, connected_at_ms: atMs, last_seen_ms: atMs, lost_at_ms: null },
          created_at_ms: atMs,
        });
        countAgent(tx, tenantOf(owner), null, "online");
      }
    }));
}

/** A log of this many events. Returns ids of some of them. */
export async function fillEvents(
  { app }: GrownRelay,
  owner: Owner,
  count: number,
): Promise<string[]> {
  const tenant = tenantOf(owner);
  const ids: string[] = [];
  const every = Math.ceil(count / IDS_MAX);
  const beginMs = app.ports.clock.now() - count * EVENT_GAP_MS;
  let atMs = beginMs, id = "";
  const entropy = { ...app.ports.entropy, uuid: () => id = app.ports.entropy.uuid() };
  const ports = { ...app.ports, entropy, clock: { ...app.ports.clock, now: () => atMs } };
  await fillLog(app.store, tenant, count, (n) => {
    atMs = beginMs + n * EVENT_GAP_MS;
    const type = "api_key_used";
    const actor = { id: n % RARE === 0 ? RARE_ACTOR : `key_${n % 1_000}` };
    const json = eventJson({ ports, actor, request: { id: `req_${n}` } }, tenant, {
      type,
      resource: { type: "api_key", id: actor.id },
      details: { endpoint: "GET /api/v1/agents/{id}", status: 200 },
    });
    if (n % every === 0) ids.push(id);
    return { type, json };
  });
  const head = await app.log.head(tenant);
  equal((await app.audit.reach(tenant)).size, head, "every row is a leaf");
  await app.audit.idle();
  return ids;
}

/** Organizations, each with a person and a key. */
export async function fillOrganizations(relay: GrownRelay, count: number): Promise<void> {
  await inBatches(count, async (from, to) => {
    await Promise.all(Array.from({ length: to - from }, (_, n) => signUp(relay, from + n + 1)));
  });
}

/** Webhooks that all want one type of event. */
export async function fillWebhooks(
  relay: GrownRelay,
  { token }: Owner,
  url: string,
  events: readonly string[],
  count: number,
): Promise<void> {
  for (let n = 0; n < count; n++) {
    const body = { name: `hook ${n}`, url, events };
    await relay.call(token, "POST", "/api/v1/webhooks", body);
  }
}

/** Rules in the files of a repository, as if they had been fetched. */
export async function fillPolicies(relay: GrownRelay, owner: Owner, rules: number): Promise<void> {
  const { app } = relay;
  const { id } = await relay.call(owner.token, "POST", "/api/v1/gitops/repos", {
    ...{ name: "rules", provider: "generic", url: "http://127.0.0.1:9/rules.git" },
    ...{ policy_path: "policies", sync_seconds: null },
  });
  await app.syncs.idle();
  const files = Math.min(rules, FILES_MAX);
  const candidates = Array.from({ length: files }, (_, file) => {
    const own = Array.from({ length: rules }, (_, n) => n).filter((n) => n % files === file);
    return candidateOf(`policies/p${file}.yaml`, {
      name: `p${file}`,
      rules: own.map((n) => ({
        id: `r${n}`,
        match: { commands: [`tool-${n}`], paths: [`/srv/${n}/**`] },
        verdict: "deny" as const,
      })),
    });
  });
  const repository = (await app.store.get(repositories, tenantOf(owner), id))!;
  await activate({ ...app, actor: { id: owner.userId } }, tenantOf(owner), repository, {
    ...{ repositoryId: id, branch: "main", path: "policies", commit: "0".repeat(40) },
    ...{ candidates, links: [] },
  });
}

async function inBatches(count: number, run: (from: number, to: number) => Promise<void>) {
  for (let n = 0; n < count; n += AT_ONCE) await run(n, Math.min(n + AT_ONCE, count));
}
