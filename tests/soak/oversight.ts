import { Buffer } from "node:buffer";
import { type Client, expectStatus } from "../clients/status_client.ts";
import { clientOf } from "../clients/status_client.ts";
import { verifyInclusion } from "../support/inclusion.ts";
import { MEMBER, type Place } from "./place.ts";
import type { Job } from "./work.ts";
import { oneOf } from "./work.ts";

const READS = [
  "/api/v1/agents",
  "/api/v1/api-keys?limit=20",
  "/api/v1/commands?limit=20",
  "/api/shield/alerts?limit=20",
  "/api/shield/approvals?limit=20",
  "/api/v1/webhooks",
  "/api/v1/users",
  "/api/v1/events?limit=50",
  "/api/admin/dashboard-stats",
  "/health",
];
const FILTERS = ["result=denied", "event_type=command_executed", "text=m1", "resource_type=agent"];
/** How far back most queries and exports go. */
const RECENT_MS = 20_000;

interface Proof {
  readonly leaf_hash: string;
  readonly leaf_index: number;
  readonly path: readonly string[];
  readonly checkpoint: { readonly tree_size: number; readonly root_hash: string };
}

/** Administrators, auditors and AI clients. */
export function oversightJobs(place: Place): Job[] {
  const { owner, stranger, ledger, relay, work, dice, hooks, steady } = place;
  const get = async <Body>(path: string, client: Client = owner) =>
    expectStatus(await client<Body>("GET", path), 200, path);

  async function keys() {
    const body = { name: "soak", scopes: ["agents:read"] };
    const made = await owner<{ id: string; key: string }>("POST", "/api/v1/api-keys", body);
    const { id, key } = expectStatus(made, 201, "making a key");
    ledger.keys.set(id, "active");
    const path = `/api/v1/api-keys/${id}`;
    const as = (value: string) => work.patient(clientOf(relay.url, value));
    await get("/api/v1/agents", as(key));
    const rotated = await owner<{ new_key: string }>("POST", `${path}/rotate`, {});
    const { new_key } = expectStatus(rotated, 200, "rotating a key");
    for (const value of [key, new_key]) await get("/api/v1/agents", as(value));
    expectStatus(await owner("POST", `${path}/revoke`), 200, "revoking a key");
    ledger.keys.set(id, "revoked");
    oneOf(await as(new_key)("GET", "/api/v1/agents"), [401], "a revoked key");
    expectStatus(await owner("DELETE", path), 204, "deleting a key");
  }

  async function prove() {
    const { events } = await get<{ events: { event_id: string }[] }>("/api/audit?limit=5");
    const { event_id } = dice.pick(events);
    const proof = await get<Proof>(`/api/audit/proof/${event_id}`);
    const { leaf_hash, leaf_index, path, checkpoint: { tree_size, root_hash } } = proof;
    const [leaf, root, ...hashes] = [leaf_hash, root_hash, ...path].map(bytesOf);
    if (!verifyInclusion(leaf!, leaf_index, tree_size, hashes, root!)) {
      throw new Error(`the proof of ${event_id} is wrong`);
    }
    const from = 1 + dice.below(tree_size);
    await get(`/api/audit/consistency?from=${from}&to=${tree_size}`);
  }

  /** A filter for what is new: the log grows, and so does what reading all of it costs. */
  async function recent(): Promise<string> {
    const path = "/api/audit?limit=1";
    const { events: [newest] } = await get<{ events: { timestamp: string }[] }>(path);
    return `start_time=${new Date(Date.parse(newest!.timestamp) - RECENT_MS).toISOString()}`;
  }

  async function comply() {
    const body = { type: dice.pick(["soc2", "access-review", "commands"]), period: "24h" };
    const path = "/api/v1/compliance/report/generate";
    expectStatus(await owner("POST", path, body), 202, "a report");
  }

  async function member() {
    const anonymous = work.patient(clientOf(relay.url));
    const login = await anonymous<{ token: string; user: { id: string } }>(
      "POST",
      "/api/v1/login",
      MEMBER,
    );
    const client = work.patient(clientOf(relay.url, expectStatus(login, 200, "signing in").token));
    const path = "/api/account/sessions";
    const { sessions } = await get<{ sessions: { id: string }[] }>(path, client);
    expectStatus(await client("DELETE", `${path}/${sessions[0]!.id}`), 204, "signing out");
  }

  async function mcp() {
    const call = (method: string, params: unknown) =>
      owner<{ result?: unknown }>("POST", "/mcp", { jsonrpc: "2.0", id: 1, method, params });
    for (
      const [method, params] of [
        ["tools/list", {}],
        ["tools/call", { name: "get_agent", arguments: { id: steady.id } }],
        ["tools/call", { name: "list_agents", arguments: {} }],
      ] as const
    ) {
      const { result } = expectStatus(await call(method, params), 200, method);
      if (result === undefined) throw new Error(`${method} had no result`);
    }
  }

  async function enable() {
    for (const [id, kind] of hooks) {
      if (kind !== "gone") continue;
      const held = dice.pick(["deliver", "discard"]);
      const path = `/api/v1/webhooks/${id}/enable`;
      expectStatus(await owner("POST", path, { held }), 200, "enabling");
    }
    const [id] = dice.pick([...hooks]);
    await get(`/api/v1/webhooks/${id}/deliveries?limit=20`);
  }

  async function trespass() {
    const path = `/api/v1/agents/${steady.id}`;
    oneOf(await stranger("GET", path), [404], "another organization's agent");
    oneOf(await stranger("POST", `${path}/commands`, { command: "id" }), [404], "its command");
  }

  return [
    { name: "reads", everyMs: 120, act: () => get(dice.pick(READS)) },
    { name: "reads", everyMs: 120, act: () => get(dice.pick(READS)) },
    { name: "trespass", everyMs: 1_000, act: trespass },
    { name: "keys", everyMs: 1_500, act: keys },
    {
      name: "queries",
      everyMs: 1_000,
      act: async () => get(`/api/audit?${dice.pick(FILTERS)}&${await recent()}`),
    },
    { name: "long queries", everyMs: 60_000, act: () => get(`/api/audit?${dice.pick(FILTERS)}`) },
    { name: "proofs", everyMs: 1_000, act: prove },
    {
      name: "exports",
      everyMs: 4_000,
      act: async () => get(`/api/audit/export?${await recent()}`),
    },
    { name: "reports", everyMs: 60_000, act: comply },
    {
      name: "evidence",
      everyMs: 180_000,
      act: () => get("/api/v1/compliance/evidence?period=24h"),
    },
    { name: "sign-ins", everyMs: 5_000, act: member },
    { name: "MCP", everyMs: 500, act: mcp },
    { name: "webhooks", everyMs: 15_000, act: enable },
  ];
}

const bytesOf = (text: string): Uint8Array =>
  Buffer.from(text, text.length === 64 ? "hex" : "base64");
