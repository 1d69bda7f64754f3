import { match, ok, strictEqual as eq } from "node:assert/strict";
import { clientOf, expectStatus } from "../clients/status_client.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";

type Env = Readonly<Record<string, string>>;

async function run(args: readonly string[], env: Env = {}) {
  const program = startMain(args, env);
  const { code } = await program.ended;
  return { code, text: program.lines.join("\n") };
}

Deno.test("relay signing-keys rotate: is refused beside a relay; interrupted or complete, agents follow and exports verify", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const state = `${folder}/agent`;
    const { relay, url } = await startRelayProcess(env);
    const token = await signUpOwner(clientOf(url));
    const RELAY_TOKEN = await makeKey(clientOf(url, token), ["agents:admin"]);
    const agent = startMain(["agent", "--url", url, "--state", state], { RELAY_TOKEN });
    try {
      const [, id] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
      const busy = await run(["signing-keys", "rotate", "verdict"], env);
      eq(busy.code, 1);
      match(busy.text, /^relay: another Relay has the store .* open: stop it/);
      const before = await clientOf(url, token)<{ public_key: string }>(
        "GET",
        "/api/audit/checkpoint",
      );
      const { public_key } = expectStatus(before, 200, "a checkpoint");
      await relay.stop();

      const cut = startMain(["signing-keys", "rotate", "verdict"], env);
      const [, first] = await cut.line(/^org_\w+\/live: (\S+)$/, START_MS);
      await cut.kill();
      const whole = await run(["signing-keys", "rotate", "verdict"], env);
      eq(whole.code, 0, whole.text);
      const [, last] = /^org_\w+\/live: (\S+)$/m.exec(whole.text)!;
      match(whole.text, /^Done: 2 verdict keys were replaced\. Back the store up now\.$/m);
      ok(first !== last);
      const audit = await run(["signing-keys", "rotate", "audit"], env);
      eq(audit.code, 0, audit.text);
      const [, now] = /^org_\w+\/live: (\S+)$/m.exec(audit.text)!;

      const again = await startRelayProcess({ ...env, RELAY_PORT: new URL(url).port });
      try {
        await agent.line(/^the relay has a new verdict key, to which the pinned key/, START_MS);
        await agent.line(/^connected to /, START_MS);
        eq(Deno.readTextFileSync(`${state}/verdict-key`), `${last}\n`);
        const owner = clientOf(again.url, token);
        const ran = await owner<{ stdout: string }>("GET", `/api/exec/${id}?command=echo+on`);
        eq(expectStatus(ran, 200, "a command").stdout, "on\n");
        const headers = { authorization: `Bearer ${token}`, accept: "application/x-ndjson" };
        const log = await fetch(`${again.url}/api/audit/export`, { headers });
        await Deno.writeTextFile(`${folder}/audit.ndjson`, await log.text());
        for (const key of [public_key, now!]) {
          const args = ["audit", "verify", `${folder}/audit.ndjson`, "--key", key];
          const { code, text } = await run(args);
          eq(code, 0, text);
          const handed = `were signed by ${public_key}, which handed over to ${now}`;
          match(text, /^valid: /);
          ok(text.includes(handed), text);
        }
      } finally {
        await again.relay.stop();
      }
    } finally {
      await agent.stop();
      await relay.stop();
    }
  });
});

Deno.test("relay signing-keys: wrong arguments exit with 2, a missing store with 1", async () => {
  const cases: [string[], RegExp][] = [
    [[], /^Say what to do/],
    [["rotate"], /^Say which keys: relay signing-keys rotate /],
    [["rotate", "jwt"], /^Say which keys/],
    [
      ["rotate", "verdict", "--force"],
      /^There is no option "--force"\. See: relay signing-keys --help$/,
    ],
    [["rotate", "verdict", "--organization"], /^The option --organization needs a value/],
    [
      ["rotate", "audit", "--organization", "a", "--organization", "b"],
      /^The option --organization may be given only once/,
    ],
  ];
  for (const [args, told] of cases) {
    const { code, text } = await run(["signing-keys", ...args]);
    eq(code, 2, text);
    match(text, told);
  }
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { code, text } = await run(["signing-keys", "rotate", "verdict"], env);
    eq(code, 1);
    match(text, /^relay: there is no store at /);
    eq([...Deno.readDirSync(folder)].length, 0);
  });
});
