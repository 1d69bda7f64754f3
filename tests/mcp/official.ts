import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import { linesOf } from "../../core/cli/remote/mcp/lines.ts";
import { programArguments } from "../../core/cli/program.ts";
import { bridge } from "./stdio_bridge.ts";
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
const MAIN = new URL("../../main.ts", import.meta.url).href;
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

Deno.test("official: by relay mcp the suite passes but for what only HTTP has", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({}, ["--port", "0"], FIXTURES_MAIN);
    const { env, ...start } = program(folder, ["mcp", "--tools", "all", "--url", url]);
    const { close, url: bridged } = bridge({ ...start, env: { ...env, RELAY_TOKEN: "any" } });
    try {
      for (const revision of ["2026-07-28", "2025-11-25"]) {
        const known = `by-lines-${revision}.yml`;
        const args = ["--requirements", revision, "--expected-failures", known, "-o", folder];
        const said = await runPackage(SUITE, ["server", "--url", bridged, ...args]);
        console.log(`${revision}: ${/Total: .*/.exec(said)?.[0]}`);
      }
    } finally {
      await relay.stop();
      await close();
    }
  });
});

/** The profile of a key in a home folder, as `relay login` keeps it. */
async function signIn(url: string, key: string, home: string): Promise<void> {
  const { command, args, env } = program(home, ["login", "--url", url, "--token-stdin"]);
  const child = new Deno.Command(command, { args, env, stdin: "piped", stdout: "null" }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(`${key}\n`));
  await input.close();
  eq((await child.status).code, 0);
}

/** How a client starts a command for people, in a home folder. */
const program = (home: string, args: readonly string[] = ["mcp"]) => ({
  command: Deno.execPath(),
  args: programArguments(args, { main: MAIN }),
  env: { HOME: home, DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno` },
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

Deno.test("official: both clients list, run a command on a real agent and hear its output come, over HTTP and by relay mcp", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: ":memory:", RELAY_CONFIG: UNLIMITED };
    const { relay, url } = await startRelayProcess(env);
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const key = await makeKey(owner, ["agents:admin", "agents:read", "agents:write"]);
    const agent = startMain(["agent", "--url", url, "--state", folder], { RELAY_TOKEN: key });
    try {
      const [, id] = await agent.line(/(agt_\w+)/, START_MS);
      await signIn(url, key, folder);
      const places = [{ url: `${url}/mcp`, key }, program(folder)];
      for (const script of ["sdk_client.ts", "current_client.ts"]) {
        for (const place of places) {
          const said = await runPackage(script, [JSON.stringify(place), id!]);
          console.log(said.trim().split("\n").at(-1));
        }
      }
    } finally {
      await agent.stop();
      await relay.stop();
    }
  });
});

Deno.test("official: relay mcp goes on after the relay was killed and started again", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv`, RELAY_CONFIG: UNLIMITED };
    const first = await startRelayProcess(env);
    const token = await signUpOwner(clientOf(first.url));
    await signIn(first.url, await makeKey(clientOf(first.url, token), ["agents:read"]), folder);
    const { command, args, env: home } = program(folder);
    const child = new Deno.Command(command, {
      args,
      env: home,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const input = child.stdin.getWriter();
    const lines = linesOf(child.stdout, 1024 * 1024);
    const write = (message: Record<string, unknown>) =>
      input.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
    const read = async () => JSON.parse((await lines.next()).value!);
    await write({
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {} },
    });
    eq((await read()).result.protocolVersion, "2025-11-25");
    await write({ method: "notifications/initialized" });
    await write({ id: 2, method: "tools/list" });
    eq((await read()).id, 2);
    await first.relay.kill();
    await write({ id: 3, method: "tools/call", params: { name: "list_agents", arguments: {} } });
    const { port } = new URL(first.url);
    const { relay } = await startRelayProcess({ ...env, RELAY_PORT: port });
    try {
      const messages = [await read(), await read(), await read()];
      deq(messages.map(({ method }) => method).sort(), [
        "notifications/resources/list_changed",
        "notifications/tools/list_changed",
        undefined,
      ]);
      const [answer] = messages.filter(({ id }) => id === 3);
      eq(answer.result.structuredContent.agents.length, 0);
      await input.close();
      eq((await child.status).code, 0);
    } finally {
      await relay.stop();
    }
  });
});
