import assert from "node:assert/strict";
import { clientOf, expectStatus } from "../clients/status_client.ts";
import { signUpOwner, startMain, startRelayProcess, withFolder } from "../support/processes.ts";

type Env = Readonly<Record<string, string>>;
const EMAIL = "a@example.com";

async function run(args: readonly string[], env: Env) {
  const program = startMain(["password", ...args], env);
  const { code } = await program.ended;
  return { code, text: program.lines.join("\n") };
}

async function signIn(url: string, password: string): Promise<number> {
  const login = { email: EMAIL, password };
  return (await clientOf(url)("POST", "/api/v1/login", login)).status;
}

Deno.test("relay password reset: the new password opens the account, the old one does not", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { relay, url } = await startRelayProcess(env);
    let token = "";
    try {
      token = await signUpOwner(clientOf(url));
      const busy = await run(["reset", EMAIL], env);
      assert.equal(busy.code, 1);
      assert.match(busy.text, /another Relay has the store .* open: stop it/);
      assert.equal(await signIn(url, "correct horse 7"), 200);
    } finally {
      await relay.stop();
    }
    const unknown = await run(["reset", "b@example.com"], env);
    assert.deepEqual([unknown.code, unknown.text], [
      1,
      'relay: nobody here has the email "b@example.com"',
    ]);
    const done = await run(["reset", "A@Example.com "], env);
    assert.equal(done.code, 0);
    const password = /is now: (\S+)$/m.exec(done.text)?.[1];
    assert.match(done.text, /^Sessions that ended: 2\.$/m);

    const again = await startRelayProcess(env);
    try {
      assert.equal(await signIn(again.url, "correct horse 7"), 401);
      assert.equal((await clientOf(again.url, token)("GET", "/api/v1/agents")).status, 401);
      const login = { email: EMAIL, password };
      const answer = await clientOf(again.url)<{ token: string }>("POST", "/api/v1/login", login);
      const owner = clientOf(again.url, expectStatus(answer, 200, "signing in").token);
      const path = "/api/audit?event_type=password_reset";
      const audit = await owner<{ events: { actor: string; details: unknown }[] }>("GET", path);
      const { events } = expectStatus(audit, 200, "the audit log");
      assert.deepEqual(events.map(({ actor, details }) => ({ actor, details })), [{
        actor: "operator",
        details: { email: EMAIL, second_factor_removed: false, sessions_ended: 2 },
      }]);
    } finally {
      await again.relay.stop();
    }
  });
});

Deno.test("relay password: wrong arguments are explained and exit with 2", async () => {
  const cases: [string[], RegExp][] = [
    [[], /^Say what to do/],
    [["reset"], /^Give the email/],
    [["reset", EMAIL, "--force"], /^There is no option "--force"/],
    [["reset", "--without-second-factor"], /^Give the email/],
    [["reset", EMAIL, "b@example.com"], /^Unexpected argument "b@example.com"\./],
  ];
  for (const [args, told] of cases) {
    const { code, text } = await run(args, {});
    assert.equal(code, 2, text);
    assert.match(text, told);
  }
});
