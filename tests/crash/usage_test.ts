import assert from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { signUpOwner, START_MS, startRelayProcess, withFolder } from "../support/processes.ts";

interface Made {
  readonly id: string;
  readonly key: string;
}

async function send(client: Client, n: number): Promise<void> {
  const answers = Array.from({ length: n }, () => client("GET", "/api/v1/agents"));
  for (const answer of await Promise.all(answers)) expectStatus(answer, 200, "a read");
}

async function total(owner: Client, id: string): Promise<number> {
  const path = `/api/v1/api-keys/${id}/usage?period=7d`;
  const answer = await owner<{ total_requests: number }>("GET", path);
  return expectStatus(answer, 200, path).total_requests;
}

/** Resolves when the relay says that every count is in its store. */
async function written(owner: Client): Promise<void> {
  const deadlineMs = performance.now() + START_MS;
  while (performance.now() < deadlineMs) {
    const text = expectStatus(await owner<string>("GET", "/metrics"), 200, "/metrics");
    const [, unwritten] = /^relay_usage_unwritten_keys (\d+)$/m.exec(text)!;
    if (unwritten === "0") return;
  }
  throw new Error("usage was never written");
}

Deno.test("usage: kill -9 loses nothing reported as written, a clean stop loses nothing", async () => {
  await withFolder(async (folder) => {
    const env: Record<string, string> = {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify(NO_LIMITS),
    };
    let { relay, url } = await startRelayProcess(env);
    env.RELAY_PORT = new URL(url).port;
    try {
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const body = { name: "k", scopes: ["agents:read"] };
      const { id, key } = expectStatus(
        await owner<Made>("POST", "/api/v1/api-keys", body),
        201,
        "",
      );
      const client = clientOf(url, key);

      await send(client, 150);
      await written(owner);
      await relay.kill();
      ({ relay, url } = await startRelayProcess(env));
      assert.equal(await total(owner, id), 150);

      // What was answered in the last moment may be missing, and nothing is counted twice.
      await send(client, 50);
      await written(owner);
      await send(client, 30);
      await relay.kill();
      ({ relay, url } = await startRelayProcess(env));
      const known = await total(owner, id);
      assert.ok(known >= 200 && known <= 230, `${known} of 200 to 230`);

      await send(client, 77);
      assert.equal((await relay.stop()).code, 0);
      ({ relay, url } = await startRelayProcess(env));
      assert.equal(await total(owner, id), known + 77);
    } catch (error) {
      console.error(relay.lines.join("\n"));
      throw error;
    } finally {
      await relay.stop();
    }
  });
});
