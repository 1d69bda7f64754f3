import assert from "node:assert/strict";
import { startMain, startRelayProcess, TLS_ENV } from "../support/processes.ts";

type Env = Readonly<Record<string, string>>;

/** Runs `relay health`. */
async function health(env: Env, args: readonly string[] = []) {
  const program = startMain(["health", ...args], env);
  return { code: (await program.ended).code, text: program.lines.join("\n") };
}

for (const [scheme, tls] of [["HTTP", {}], ["HTTPS", TLS_ENV]] as const) {
  Deno.test(`relay health: succeeds while a relay answers by ${scheme}, and says why it fails when none does`, async () => {
    const { relay, url } = await startRelayProcess({ ...tls, RELAY_KV: ":memory:" });
    const { port } = new URL(url);
    const env = { ...tls, RELAY_KV: ":memory:", RELAY_PORT: port };
    const there = await health(env).finally(() => relay.stop());
    assert.deepEqual([there.code, there.text.endsWith(`:${port}`)], [0, true], there.text);
    const gone = await health(env);
    assert.equal(gone.code, 1);
    assert.match(gone.text, new RegExp(`^relay: no relay answers at \\S+:${port}: `));
  });
}

Deno.test("relay health: without the settings of a relay that serves HTTPS it names those that are missing", async () => {
  const { relay, url } = await startRelayProcess({ ...TLS_ENV, RELAY_KV: ":memory:" });
  const env = { RELAY_HOST: "localhost", RELAY_PORT: new URL(url).port };
  const { code, text } = await health(env).finally(() => relay.stop());
  assert.equal(code, 1);
  assert.match(text, /may serve HTTPS, so give RELAY_TLS_CERT and RELAY_TLS_KEY/);
});

Deno.test("relay health: reaches a relay that listens on all addresses", async () => {
  const { relay, url } = await startRelayProcess({ RELAY_HOST: "0.0.0.0", RELAY_KV: ":memory:" });
  const env = { RELAY_HOST: "0.0.0.0", RELAY_PORT: new URL(url).port };
  const { code, text } = await health(env).finally(() => relay.stop());
  assert.deepEqual([code, text], [0, `a relay answers at 127.0.0.1:${env.RELAY_PORT}`]);
});

Deno.test("relay health: a program that is not a relay, and one that never answers, are failures", async () => {
  const other = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("", { status: 404 }),
  );
  const wrong = await health({ RELAY_PORT: `${other.addr.port}` });
  await other.shutdown();
  assert.deepEqual(wrong, {
    code: 1,
    text: `relay: 127.0.0.1:${other.addr.port} answers 404 to GET /healthz`,
  });
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = silent.addr as Deno.NetAddr;
  const late = await health({ RELAY_PORT: `${port}` });
  assert.equal(late.code, 1);
  assert.match(late.text, /^relay: no relay answers at .*: /);
});

Deno.test("relay health: refuses settings that relay serve refuses, and arguments", async () => {
  const { code, text } = await health({ RELAY_PORT: "x" });
  assert.deepEqual([code, /^relay: RELAY_PORT/.test(text)], [1, true], text);
  assert.equal((await health({}, ["--quick"])).code, 2);
});
