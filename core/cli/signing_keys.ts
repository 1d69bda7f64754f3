import { readStoreSettings } from "../context/context.ts";
import { KEY_KINDS, type KeyKind, rotateKeys, type Rotation, secretsKnown } from "../host/host.ts";
import { makeSealer } from "../codec/codec.ts";
import { systemClock, systemEntropy } from "../ports/ports.ts";
import { UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { storeLocation, withStore } from "./store.ts";

const HELP = `relay signing-keys rotate: replace signing keys

Usage:
  relay signing-keys rotate verdict [--organization <id>] [--leave-behind]
  relay signing-keys rotate audit [--organization <id>]

  verdict   The keys that sign commands for agents. Agents pin them.
  audit     The keys that sign checkpoints and exports of the audit log.

Each organization has one key of each kind for each of its spaces. The old key signs a handover to the
new one and is deleted. The new keys are printed, so that people can pass them on. Back the store up
afterwards: an older backup would restore keys that agents and auditors refuse. The command needs the
RELAY_KV and RELAY_SECRET of the relay. Stop the relay first if RELAY_KV is a path.

After a leak of a secret or a backup, run \`relay secret rotate\` first.

Options:
  --organization <id>   Only this organization's keys.
  --leave-behind        Continue although some agents cannot follow. They refuse the relay until they are
                        updated, or a person writes the new key into their state directory.
  --help                Show this text.

Exit codes:
  0  all keys were replaced
  1  not all keys were replaced; the reason is printed, and running it again replaces all of them
  2  wrong arguments
`;

interface Options {
  readonly organization?: string;
  readonly "leave-behind"?: boolean;
}

/** Runs `relay signing-keys`; resolves to the exit code. */
export function signingKeysCommand(args: string[]): Promise<number> {
  return runCommand({
    name: "signing-keys",
    help: HELP,
    texts: ["organization"],
    switches: ["leave-behind"],
    positional: 2,
    run: (options, action, kind) => rotate(rotationOf(options, action, kind)),
  }, args);
}

/** @throws {UsageError} */
function rotationOf(options: Options, action?: string, kind?: string): Rotation {
  const usage = `relay signing-keys rotate ${KEY_KINDS.join("|")}`;
  if (action !== "rotate") throw new UsageError(`Say what to do: ${usage}.`);
  if (!KEY_KINDS.includes(kind as KeyKind)) throw new UsageError(`Say which keys: ${usage}.`);
  return {
    kind: kind as KeyKind,
    organization: options.organization ?? null,
    leaveBehind: options["leave-behind"] ?? false,
  };
}

async function rotate(rotation: Rotation): Promise<void> {
  const settings = readStoreSettings(Deno.env.toObject(), false);
  const kv = storeLocation(settings.kv);
  const secrets = secretsKnown(settings);
  if (secrets === null) {
    throw new Error("the secret of the store is missing: give it in RELAY_SECRET");
  }
  const by = {
    sealer: makeSealer(secrets.secret, systemEntropy, secrets.olderSecrets),
    ports: { clock: systemClock, entropy: systemEntropy },
  };
  let keys = 0;
  await withStore(kv, (store) =>
    rotateKeys(store, by, rotation, (tenant, key) => {
      keys++;
      console.log(`${tenant}: ${key}`);
    }));
  console.log(`Done: ${keys} ${rotation.kind} keys were replaced. Back the store up now.`);
}
