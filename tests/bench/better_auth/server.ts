import { apiKey } from "@better-auth/api-key";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { Hono } from "hono";
import { DatabaseSync } from "node:sqlite";

/**
 * What a Relay read is compared with: the same answer behind the same Hono, its API key verified by
 * better-auth on SQLite, with its rate limiting on and so high that only its cost shows. Prints one JSON line:
 * the port and a key.
 */
const folder = await Deno.makeTempDir({ prefix: "relay-bench-" });
const database = new DatabaseSync(`${folder}/auth.db`);
// As durable as Relay's own file, and several times faster than SQLite as it comes.
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
const rateLimit = { enabled: true, timeWindow: 60_000, maxRequests: 2_000_000_000 };
const options = {
  baseURL: "http://127.0.0.1",
  secret: "a secret for the benchmark, long enough",
  database,
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
  plugins: [apiKey({ rateLimit })],
};
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const account = { email: "bench@example.com", password: "benchmark", name: "Bench" };
const { user } = await auth.api.signUpEmail({ body: account });
const { key } = await auth.api.createApiKey({ body: { name: "bench", userId: user.id } });

const agent = {
  id: "agt_0mwpu8lfqc40dbd4e830d4a59a48160",
  name: "web-1",
  status: "online",
  reported_status: null,
  last_seen_at: "2026-01-31T12:00:00.000Z",
  connected_at: "2026-01-31T12:00:00.000Z",
  version: "0.1.0",
  platform: "linux-x86_64",
  hostname: "web-1",
  labels: {},
  policy_version: null,
  created_at: "2026-01-31T12:00:00.000Z",
};
const app = new Hono();
app.get("/api/v1/agents/:id", async (c) => {
  const key = c.req.header("x-api-key") ?? "";
  const { valid, error } = await auth.api.verifyApiKey({ body: { key } });
  return valid ? c.json(agent) : c.json({ error }, 401);
});
const onListen = ({ port }: { port: number }) => console.log(JSON.stringify({ port, key }));
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, app.fetch);
Deno.addSignalListener("SIGTERM", () => {
  Deno.removeSync(folder, { recursive: true });
  Deno.exit(0);
});
