import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { type Answer, clientOf, expectStatus } from "../clients/status_client.ts";
import { routes } from "../../routes/index.ts";
import { reply, startReceiver } from "../ports/receiver.ts";
import { digestsOf, findLeaks, formsOf, type Haystack, storeHaystacks } from "./leaks.ts";
import { START_MS, startMain, startRelayProcess, withFolder } from "../support/processes.ts";

const CONFIG = {
  plans: { starter: { requests_per_minute: null } },
  outbound: { allow_private_targets: true },
  // Others can reach the relay, so the first signup needs the claim code, which only the operator is shown.
  trusted_proxies: ["127.0.0.1"],
};
const PASSWORD = "päss phrase/of+the owner";
const OWNER = { email: "owner@example.com", password: PASSWORD };

type Secrets = Map<string, ReadonlyMap<string, Buffer>>;
interface Made {
  readonly id: string;
  readonly key: string;
}

/** The files of a store, as bytes; the secret's own file is where it belongs. */
async function fileHaystacks(folder: string): Promise<Haystack[]> {
  const found: Haystack[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (name === "relay.kv.secret" || !name.startsWith("relay.kv")) continue;
    found.push([name, await Deno.readFile(`${folder}/${name}`)]);
  }
  return found;
}

/** Sends one request with every kind of secret in it, and some where none belongs; answers the secrets. */
async function live(url: string, claimCode: string, folder: string): Promise<Secrets> {
  const secrets: Secrets = new Map();
  const chosen = (name: string, secret: string) => {
    secrets.set(name, formsOf(secret));
    secrets.set(`the digest of ${name}`, digestsOf(secret));
    return secret;
  };
  const drawn = (name: string, secret: string) => {
    secrets.set(name, formsOf(secret));
    return secret;
  };
  const anonymous = clientOf(url);
  const ok = <Body>(answer: Answer<Body>, what: string) => {
    assert.ok(answer.status < 300, `${what} answered ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  chosen("the owner's password", PASSWORD);
  drawn("the claim code", claimCode);
  chosen("RELAY_SECRET", (await Deno.readTextFile(`${folder}/relay.kv.secret`)).trim());
  const account = { ...OWNER, organization: "O" };
  const early = { ...account, claim_code: chosen("a wrong claim code", "claim_of-somebody-else") };
  expectStatus(await anonymous("POST", "/api/v1/signup", early), 403, "a wrong claim code");
  const first = await anonymous<{ token: string }>("POST", "/api/v1/signup", {
    ...account,
    claim_code: claimCode,
  });
  const jwt = drawn("the signup's JWT", ok(first, "signup").token);
  const login = await anonymous<{ token: string }>("POST", "/api/v1/login", OWNER);
  drawn("the login's JWT", ok(login, "login").token);
  for (const email of [OWNER.email, "nobody@example.com"]) {
    const password = chosen(`the wrong password of ${email}`, `a wrong one of ${email}!`);
    expectStatus(await anonymous("POST", "/api/v1/login", { email, password }), 401, "a login");
  }
  expectStatus(await anonymous("POST", "/api/v1/login", { email: PASSWORD, password: 1 }), 400, "");
  const second = { ...account, email: "b@example.com", password: chosen("B's", "the other one's") };
  expectStatus(await anonymous("POST", "/api/v1/signup", second), 403, "a second signup");

  const owner = clientOf(url, jwt);
  const make = async (name: string, scopes: string[], type = "live") => {
    const made = ok(await owner<Made>("POST", "/api/v1/api-keys", { name, scopes, type }), name);
    drawn(`the key ${name}`, made.key);
    return made;
  };
  const scopes = ["agents:admin", "agents:read", "agents:write", "system:read"];
  const key = await make("of the agent", scopes);
  const revoked = await make("that was revoked", scopes);
  const rotated = await make("that was rotated", scopes);
  await make("of the test space", scopes, "test");
  ok(await owner("POST", `/api/v1/api-keys/${revoked.id}/revoke`), "revoke");
  if (routes.some(({ id }) => id === "api_keys.rotate")) {
    const path = `/api/v1/api-keys/${rotated.id}/rotate`;
    const answer = await owner<{ new_key: string | { key: string } }>("POST", path, {});
    const { new_key } = ok(answer, "rotate");
    drawn("the rotated key's new value", typeof new_key === "string" ? new_key : new_key.key);
  }

  await using receiver = startReceiver((line) => line.write(reply(200, "thanks")));
  const hook = ok(
    await owner<{ id: string }>("POST", "/api/v1/webhooks", {
      name: "hook",
      url: `http://127.0.0.1:${receiver.port}/hook`,
      secret: chosen("the webhook's secret", "whsec_c2l4dGVlbiBjaGFyYWN0ZXJzIQ=="),
      headers: { "x-token": chosen("the webhook's header", "a token of the receiver's") },
      events: ["command_executed"],
    }),
    "a webhook",
  );
  ok(await owner("POST", `/api/v1/webhooks/${hook.id}/test`), "a ping");
  await receiver.untilHeard(1);

  const agent = startMain(["agent", "--url", url, "--state", `${folder}/agent`], {
    RELAY_TOKEN: key.key,
  });
  try {
    const [, id] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
    const client = clientOf(url, key.key);
    ok(await client("GET", `/api/exec/${id}?command=uname`), "a command");
    await receiver.untilHeard(2);
    // Where none belongs: in queries, paths, bodies and other headers.
    for (const secret of [key.key, PASSWORD, jwt]) {
      const text = encodeURIComponent(secret);
      for (const path of [`/api/v1/agents?api_key=${text}`, `/api/v1/agents/${text}`, `/${text}`]) {
        assert.ok((await client("GET", path)).status >= 400, "a secret in the wrong place");
      }
      await client("POST", "/api/v1/webhooks", { [secret]: secret });
      const basic = `Basic ${Buffer.from(secret).toString("base64")}`;
      for (const authorization of [`Bearer ${secret}x`, basic, secret]) {
        const answer = await anonymous("GET", "/api/v1/agents", undefined, {
          authorization: authorization.replaceAll(/[^\x20-\x7e]/g, "?"),
        });
        expectStatus(answer, 401, "a broken credential");
      }
    }
    const types = ["application/json", "application/x-ndjson", "text/csv"];
    for (const accept of types) {
      const answer = await owner("GET", "/api/audit/export", undefined, { accept });
      const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
      assert.ok(text.includes("user_login_failed") && text.includes("api_key_used"));
      assert.deepEqual(findLeaks(secrets, [[`the export as ${accept}`, Buffer.from(text)]]), []);
    }
  } finally {
    await agent.stop();
  }
  return secrets;
}

/** A backup of a store at work: its files and what the command printed, as bytes. */
async function backupHaystacks(folder: string, env: Record<string, string>): Promise<Haystack[]> {
  const program = startMain(["backup", `${folder}/backup`], env);
  assert.equal((await program.ended).code, 0, program.lines.join("\n"));
  const names = ["relay.kv", "manifest.json"];
  assert.deepEqual([...Deno.readDirSync(`${folder}/backup`)].length, names.length);
  return [
    ...names.map((name): Haystack => [name, Deno.readFileSync(`${folder}/backup/${name}`)]),
    ["what it printed", Buffer.from(program.lines.join("\n"))],
  ];
}

Deno.test("at rest: no key, password, secret or token is in any byte of the store, a backup, the log or the audit trail", async () => {
  await withFolder(async (folder) => {
    const env = {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify(CONFIG),
    };
    const { relay, url } = await startRelayProcess(env);
    let secrets: Secrets;
    try {
      const [, code] = await relay.line(/claim_code (claim_\w+)/, START_MS);
      secrets = await live(url, code!, folder);
      assert.deepEqual(findLeaks(secrets, await fileHaystacks(folder)), [], "while it runs");
      assert.deepEqual(findLeaks(secrets, await backupHaystacks(folder, env)), [], "in a backup");
    } catch (error) {
      console.error(relay.lines.join("\n"));
      throw error;
    } finally {
      assert.equal((await relay.stop()).code, 0);
    }
    const files = await fileHaystacks(folder);
    assert.deepEqual(findLeaks(secrets, files), [], "after it stopped");
    using kv = await Deno.openKv(`${folder}/relay.kv`);
    const stored = await storeHaystacks(kv);
    assert.ok(stored.length > 200 && files.length > 0, `${stored.length} texts in the store`);
    assert.deepEqual(findLeaks(secrets, stored), []);
    const log = relay.lines.join("\n").replace(/claim_code claim_\w+/, "");
    assert.ok(relay.lines.length > 3 && relay.lines.length < 200, "the log is not whole");
    assert.deepEqual(findLeaks(secrets, [["the log", Buffer.from(log)]]), []);
  });
});

Deno.test("at rest: the search finds a secret stored in the clear, in every form", async () => {
  await withFolder(async (folder) => {
    const secret = "svc_live_a secret, stored ü the clear?";
    for (const [form, text] of [...formsOf(secret), ...digestsOf(secret)]) {
      const [forms, digests] = [formsOf(secret), digestsOf(secret)];
      const secrets: Secrets = new Map([["it", new Map([...forms, ...digests])]]);
      const path = `${folder}/relay.kv`;
      const kv = await Deno.openKv(path);
      const padded = Buffer.concat([Buffer.from("before "), text, Buffer.from(" behind")]);
      await kv.set(["o", "live", "bytes"], { deep: [new Uint8Array(padded)] });
      const found = findLeaks(secrets, await storeHaystacks(kv));
      kv.close();
      assert.ok(found.includes(`it as ${form} in a value of o/live/bytes`), form);
      const inFiles = findLeaks(secrets, await fileHaystacks(folder));
      assert.ok(inFiles.some((leak) => leak.startsWith(`it as ${form} in relay.kv`)), form);
    }
    const kv = await Deno.openKv(`${folder}/other.kv`);
    await kv.set(["o", "live", "names", secret], true);
    await kv.set(["o", "live", "map"], new Map([["x", { [secret]: 1 }]]));
    const found = findLeaks(new Map([["it", formsOf(secret)]]), await storeHaystacks(kv));
    kv.close();
    assert.ok(found.includes("it as plain in a key of o/live/names"));
    assert.ok(found.includes("it as plain in a value of o/live/map"));
    // What base64 makes of a longer text that holds the secret, wherever in it that lies.
    for (const before of ["", "a", "ab", "abc"]) {
      const text = Buffer.from(`${before}${secret} and more`).toString("base64");
      const haystack: Haystack = ["text", Buffer.from(text)];
      assert.equal(findLeaks(new Map([["it", formsOf(secret)]]), [haystack]).length > 0, true);
    }
  });
});
