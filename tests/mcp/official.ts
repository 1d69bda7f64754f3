import { strictEqual as eq } from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";

/**
 * The official conformance suite and the official clients against the program. They are packages of their
 * own world: `deno task test:mcp` fetches them, and nothing of Relay depends on them.
 */
const PACKAGES = new URL("./packages/", import.meta.url).pathname;
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";
/** A relay with what the suite looks for. */
const FIXTURES_MAIN = new URL("./serve_fixtures.ts", import.meta.url).href;
const UNLIMITED = JSON.stringify(NO_LIMITS);

async function runPackage(script: string, args: readonly string[]): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", script, ...args],
    cwd: PACKAGES,
    env: { NO_COLOR: "1" },
  });
  const { code, stdout, stderr } = await child.output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  eq(code, 0, said);
  return said;
}

Deno.test("official: the conformance suite passes whole, in both of its revisions", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({}, ["--port", "0"], FIXTURES_MAIN);
    try {
      for (const [revision, checks] of [["2026-07-28", 196], ["2025-11-25", 80]] as const) {
        const args = ["server", "--url", `${url}/mcp`, "--requirements", revision, "-o", folder];
        const said = await runPackage(SUITE, args);
        const [, passed, failed] = /Total: (\d+) passed, (\d+) failed/.exec(said) ?? [];
        console.log(`${revision}: ${passed} checks passed, ${failed} failed`);
        eq([passed, failed].join(), `${checks},0`, said);
      }
    } finally {
      await relay.stop();
    }
  });
});

/** Stands between the suite, which knows no credentials, and a relay. */
function withKey(url: string, key: string): Deno.HttpServer<Deno.NetAddr> {
  const proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const headers = new Headers(request.headers);
    headers.set("authorization", `Bearer ${key}`);
    // A page of the proxy's address is one of the relay's own.
    const origin = headers.get("origin");
    const own = (text: string) => text.replace(`:${proxy.addr.port}`, `:${new URL(url).port}`);
    if (origin !== null) headers.set("origin", own(origin));
    const { method } = request;
    const body = method === "POST" ? { body: await request.text() } : {};
    return await fetch(`${url}${new URL(request.url).pathname}`, { method, headers, ...body });
  });
  return proxy;
}

Deno.test("official: without fixtures the suite misses its fixtures, and nothing else", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: ":memory:", RELAY_CONFIG: UNLIMITED };
    const { relay, url } = await startRelayProcess(env);
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const key = await makeKey(owner, ["agents:read", "agents:write", "system:read"]);
    const proxy = withKey(url, key);
    try {
      for (const revision of ["2026-07-28", "2025-11-25"]) {
        const target = `http://127.0.0.1:${proxy.addr.port}/mcp`;
        const known = `without-fixtures-${revision}.yml`;
        const args = ["--requirements", revision, "--expected-failures", known, "-o", folder];
        await runPackage(SUITE, ["server", "--url", target, ...args]);
      }
    } finally {
      await proxy.shutdown();
      await relay.stop();
    }
  });
});

Deno.test("official: both clients list, run a command on a real agent and hear its output come", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: ":memory:", RELAY_CONFIG: UNLIMITED };
    const { relay, url } = await startRelayProcess(env);
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const key = await makeKey(owner, ["agents:admin", "agents:read", "agents:write"]);
    const agent = startMain(["agent", "--url", url, "--state", folder], { RELAY_TOKEN: key });
    try {
      const [, id] = await agent.line(/(agt_\w+)/, START_MS);
      for (const script of ["sdk_client.ts", "current_client.ts"]) {
        console.log((await runPackage(script, [url, key, id!])).trim().split("\n").at(-1));
      }
    } finally {
      await agent.stop();
      await relay.stop();
    }
  });
});
