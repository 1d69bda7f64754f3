import { strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";
import { connected } from "../access/mcp_clients/fixtures.ts";
import type { Route } from "../../routes/call/route.ts";
import { forbidding, withRepository } from "../policies/git_fixtures.ts";
import { upgrades } from "../../kv/records/backup.ts";
import { ScriptedAgent } from "../support/agent.ts";
import type { Account, World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

/** Every id that a path may name, as one organization has them. */
export type Ids = Readonly<Record<string, string>>;

/** Paths of the policies and the configuration of one agent. */
const AGENT_PATHS = ["drift", "guard", "backup", "backups", "restore", "restores"]
  .map((what) => `/api/v1/gitops/${what}/{agent_id}`);

/** Makes one of everything that a path may name. */
export async function furnish(world: World, account: Account): Promise<Ids> {
  const key = await world.key(account, ["agents:admin", "agents:write"]);
  const agent = await ScriptedAgent.connect(world, key.value);
  const as = account.token;
  const run = await world.call("GET", `/api/exec/${agent.id}?command=uptime`, { as });
  const waits = await world.call("GET", `/api/exec/${agent.id}?command=systemctl+stop+nginx`, {
    as,
  });
  eq(waits.status, 202);
  const code = await world.call("POST", "/api/devices/pairing-codes", { as });
  const { pairing_code } = code.body;
  const unused = await world.call("POST", "/api/devices/pairing-codes", { as });
  const device = await world.call("POST", "/api/devices/pair", {
    body: { device_name: "box", pairing_code },
  });
  const hook = await world.call("POST", "/api/v1/webhooks", {
    as,
    body: {
      name: "hook",
      url: "https://hooks.example.com/x",
      secret: "sixteen characters",
      events: ["command_executed"],
    },
  });
  const ping = await world.call("POST", `/api/v1/webhooks/${hook.body.id}/test`, { as });
  eq(ping.status, 202);
  const made = { name: "alerts", purpose: "alertmanager" };
  const token = await world.call("POST", "/api/v1/ingest-tokens", { as, body: made });
  const since = "2026-01-31T12:00:00.000Z";
  const path = `/api/v1/webhooks/${hook.body.id}/recover`;
  const { body: { recovery } } = await world.call("POST", path, { as, body: { since } });
  const { host, repositoryId, apply } = await withRepository(world, {}, account);
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  eq((await apply()).status, 200);
  const { body: { policies } } = await world.call("GET", "/api/v1/gitops/policies", { as });
  const role = `role ${account.org}`;
  await world.call("POST", "/api/v1/roles", { as, body: { name: role, permissions: [] } });
  const invited = await world.call("POST", "/api/v1/invitations", { as, body: {} });
  await connected(world, account);
  const { body: { clients: [client] } } = await world.call("GET", "/api/account/mcp-clients", {
    as,
  });
  const sessions = await world.call("GET", "/api/account/sessions", { as });
  const { body: { events: [event] } } = await world.call("GET", "/api/audit?limit=1", { as });
  const { body: { notifications: [notice] } } = await world.call(
    "GET",
    "/api/account/notifications",
    { as },
  );
  const installed = await world.call("POST", "/api/integrations", {
    as,
    body: { type: "github", config: { token: "a-token" } },
  });
  const alerts = [{
    name: "disk full",
    fingerprint: "disk",
    severity: "critical",
    state: "firing",
  }];
  await world.call("POST", "/api/shield/ingest", { as, body: { source: "probe", alerts } });
  const { body: { alerts: [alert] } } = await world.call("GET", "/api/shield/alerts", { as });
  const fleet = await world.call("POST", "/api/v1/commands", {
    as,
    body: { all: true, command: "uptime" },
  });
  return {
    "/api/v1/commands/{id}": fleet.body.id,
    "/api/shield/alerts/{id}": alert.alert_id,
    "/api/account/notifications/{id}": notice.id,
    "/api/audit/proof/{event_id}": event.event_id,
    "/api/v1/gitops/repos/{id}": repositoryId,
    "/api/v1/gitops/policies/{id}": policies[0].id,
    "/versions/{version}": "1",
    "/api/v1/roles/{name}": encodeURIComponent(role),
    "/api/v1/roles/user/{user_id}": account.userId,
    "/api/v1/users/{id}": account.userId,
    "/api/v1/invitations/{id}": invited.body.id,
    "/api/account/mcp-clients/{id}": client.id,
    "/api/account/sessions/{id}": sessions.body.sessions[0].id,
    "/api/devices/{id}": device.body.device_id,
    "/api/devices/pairing-codes/{id}": unused.body.id,
    "/api/admin/plans/{id}": "team",
    "/api/admin/accounts/{id}": account.org,
    "/api/shield/approvals/{pid}": waits.body.approval_id,
    "/api/shield/approve/{pid}": waits.body.approval_id,
    "/api/shield/reject/{pid}": waits.body.approval_id,
    "/api/shield/telegram-links/{id}": await linkChat(world, account),
    "/api/v1/ingest-tokens/{id}": token.body.id,
    "/api/integrations/{id}": installed.body.id,
    ...Object.fromEntries(AGENT_PATHS.map((path) => [path, agent.id])),
    "/api/v1/agents/{id}": agent.id,
    "/api/v1/agent-upgrades/{id}": await makeUpgrade(world, account, agent.id),
    "/api/exec/{agent_id}": agent.id,
    "/commands/{command_id}": run.body.command_id,
    "/api/v1/api-keys/{id}": key.id,
    "/api/admin/limits/{id}": key.id,
    "/api/v1/webhooks/{id}": hook.body.id,
    "/deliveries/{del_id}": ping.body.id,
    "/recoveries/{recovery_id}": recovery.id,
  };
}

/** An upgrade of the past; answers its id. */
async function makeUpgrade({ app }: World, { org, userId }: Account, agentId: string) {
  const upgrade = {
    id: app.ports.entropy.id("upg"),
    version: "0.1.0",
    status: "complete" as const,
    agent_ids: [agentId],
    started: 1,
    succeeded: 1,
    failed: 0,
    stop_after: 1,
    created_by: userId,
    created_at_ms: app.ports.clock.now(),
    finished_at_ms: app.ports.clock.now(),
  };
  await app.store.transact((tx) => tx.insert(upgrades, { org, space: "live" }, upgrade));
  return upgrade.id;
}

/** Links a chat to the person; answers the link's id. */
async function linkChat(world: World, { token: as }: Account): Promise<string> {
  const bot = await world.call("POST", "/api/v1/ingest-tokens", {
    as,
    body: { name: "bot", purpose: "telegram" },
  });
  const asked = await world.call("POST", "/api/shield/telegram-links", { as });
  const from = { id: 5_123_456_789, is_bot: false, first_name: "Bob" };
  const message = {
    message_id: 1,
    date: 1_893_456_000,
    from,
    chat: { id: from.id, type: "private" },
    text: asked.body.message,
  };
  await world.call("POST", "/api/tg/webhook", {
    body: { update_id: 1, message },
    headers: { "x-telegram-bot-api-secret-token": bot.body.token },
  });
  const { body } = await world.call("GET", "/api/shield/telegram-links", { as });
  return Object.values(body as Record<string, { id: string }[]>).flat()[0]!.id;
}

/** The path of a route with somebody's ids, or null when it names none. */
export function pathWith(route: Route, ids: Ids): string | null {
  let path = route.path;
  for (const [pattern, id] of Object.entries(ids)) {
    path = path.replace(pattern, pattern.replace(/\{\w+\}/, id));
  }
  return path === route.path ? null : path;
}

/** Ids of nothing. */
export const MISSING: Ids = {
  "/api/v1/commands/{id}": "flt_missing",
  "/api/shield/alerts/{id}": "alr_missing",
  "/api/account/notifications/{id}": "ntf_missing",
  "/api/audit/proof/{event_id}": "6f1b0c3e-0000-4000-8000-000000000000",
  "/api/v1/gitops/repos/{id}": "rpo_missing",
  "/api/v1/gitops/policies/{id}": "pol_missing",
  "/versions/{version}": "1",
  "/api/v1/roles/{name}": "role missing",
  "/api/v1/roles/user/{user_id}": "usr_missing",
  "/api/v1/users/{id}": "usr_missing",
  "/api/v1/invitations/{id}": "inv_missing",
  "/api/account/mcp-clients/{id}": "mcg_missing",
  "/api/account/sessions/{id}": "ses_missing",
  "/api/devices/{id}": "dev_missing",
  "/api/devices/pairing-codes/{id}": "pco_missing",
  "/api/admin/plans/{id}": "pln_missing",
  "/api/admin/accounts/{id}": "org_missing",
  "/api/shield/approvals/{pid}": "prc_missing",
  "/api/shield/approve/{pid}": "prc_missing",
  "/api/shield/reject/{pid}": "prc_missing",
  "/api/shield/telegram-links/{id}": "tgl_missing",
  "/api/v1/ingest-tokens/{id}": "itk_missing",
  "/api/integrations/{id}": "int_missing",
  ...Object.fromEntries(AGENT_PATHS.map((path) => [path, "agt_missing"])),
  "/api/v1/agents/{id}": "agt_missing",
  "/api/exec/{agent_id}": "agt_missing",
  "/commands/{command_id}": "cmd_missing",
  "/api/v1/api-keys/{id}": "key_missing",
  "/api/v1/agent-upgrades/{id}": "upg_missing",
  "/api/admin/limits/{id}": "key_missing",
  "/api/v1/webhooks/{id}": "whk_missing",
  "/deliveries/{del_id}": "dlv_missing",
  "/recoveries/{recovery_id}": "rcv_missing",
};

/** A query that a route with a required one takes. */
const QUERIES: Readonly<Record<string, string>> = {
  "api_keys.explain": "?scope=agents:read",
  "commands.exec": "?command=uptime",
  "gitops.diff": "?from=1&to=1",
};
export const queryOf = (route: Route) => QUERIES[route.id] ?? "";
/** A body that passes the schema, for routes whose refusal must come from elsewhere. */
const BODIES: Readonly<Record<string, unknown>> = {
  "accounts.change_plan": { plan_id: "team" },
  "accounts.toggle": { active: false },
  "api_keys.update": { metadata: {} },
  "commands.start": { command: "id" },
  "gitops.restore": { backup_id: "bkp_missing" },
  "roles.update": { permissions: [] },
  "roles.assign": { user_id: "usr_missing" },
  "roles.revoke": { user_id: "usr_missing" },
  "webhooks.recover": { since: "2026-01-31T12:00:00.000Z" },
  "webhooks.update": { name: "renamed" },
};
/** Bodies of senders that Relay does not know the schema of take fields that it does not know. */
export const isOpen = ({ body }: Route) => body!.safeParse({ surprise: true }).success;
export const bodyOf = (route: Route) =>
  route.body === undefined ? undefined : BODIES[route.id] ?? {};

/** What a refusal may leave: log rows and what proves them, and what is counted. */
const LEFT = [
  "log",
  "log_cursors",
  "audit_trees",
  "audit_tiles",
  "audit_ids",
  "api_key_usage@",
  "activity@",
];

/** Everything else that is stored, but counters. */
export async function stored(world: World): Promise<Map<string, string>> {
  await world.settle();
  const rows = new Map<string, string>();
  for (const { key, versionstamp, kind } of await rawRows(world.kv)) {
    const left = key[0] === "~" || LEFT.includes(kind.split(".")[0]!);
    if (!left) rows.set(key.join("/"), versionstamp);
  }
  return rows;
}

/** Every route that asks who is there. */
export const guarded = routes.filter((route) => !("public" in route.access));
