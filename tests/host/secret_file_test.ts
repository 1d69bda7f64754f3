import {
  deepStrictEqual as deq,
  notStrictEqual,
  ok,
  strictEqual as eq,
  throws,
} from "node:assert/strict";
import {
  nextSecret,
  nextSecretPath,
  promoteSecret,
  readSecret,
  secretPath,
  secretsOf,
} from "../../core/host/secrets/file.ts";
import { readStoreSettings } from "../../core/context/settings.ts";
import { withFolder } from "../support/processes.ts";

const entropy = { bytes: (n: number) => crypto.getRandomValues(new Uint8Array(n)) };

Deno.test("secretsOf: makes a file once that only its owner can read, and returns its secret", async () => {
  await withFolder(async (folder) => {
    const settings = { kv: `${folder}/relay.kv`, secret: null, olderSecrets: [] };
    throws(
      () => secretsOf(settings, entropy, true),
      /relay\.kv\.secret back, or give what it held/,
    );
    deq([...Deno.readDirSync(folder)], [], "none is made for a store that has another");
    const made = secretsOf(settings, entropy, false);
    ok(made.secret.length >= 43);
    deq(secretsOf(settings, entropy, true), made);
    eq(Deno.statSync(secretPath(settings.kv)).mode! & 0o777, 0o600);
    deq([...Deno.readDirSync(folder)].map(({ name }) => name), ["relay.kv.secret"]);
    const set = { ...settings, secret: "a setting of enough characters", olderSecrets: ["older"] };
    deq(secretsOf(set, entropy, false), { secret: set.secret, olderSecrets: ["older"] });
  });
});

Deno.test("readSecret: names an unreadable file, and the user to run the relay as", () => {
  throws(
    () => readSecret("/"),
    /^Error: the secret cannot be read: .*'\/'\. It belongs to the user who /,
  );
});

Deno.test("nextSecret: stays the same until it is promoted, and both secrets work meanwhile", async () => {
  await withFolder(async (folder) => {
    const settings = { kv: `${folder}/relay.kv`, secret: null, olderSecrets: ["older"] };
    const { secret: current } = secretsOf(settings, entropy, false);
    const next = nextSecret(settings.kv, entropy);
    notStrictEqual(next, current);
    eq(nextSecret(settings.kv, entropy), next);
    eq(Deno.statSync(nextSecretPath(settings.kv)).mode! & 0o777, 0o600);
    deq(secretsOf(settings, entropy, true), { secret: next, olderSecrets: [current, "older"] });
    promoteSecret(settings.kv);
    deq(secretsOf(settings, entropy, true), { secret: next, olderSecrets: ["older"] });
    deq([...Deno.readDirSync(folder)].map(({ name }) => name), ["relay.kv.secret"]);
  });
});

Deno.test("readStoreSettings: reads each older secret from its own variable, whatever characters it has", () => {
  const env = {
    RELAY_SECRET: "the newest",
    RELAY_SECRET_OLD: "one, with a comma",
    RELAY_SECRET_OLD_2: " two ",
    RELAY_SECRET_OLD_3: "",
    RELAY_SECRET_OLDER: "not this",
  };
  deq(readStoreSettings(env, false), {
    kv: ".relay/relay.kv",
    secret: "the newest",
    olderSecrets: ["one, with a comma", " two "],
  });
});
