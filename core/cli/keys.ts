import { KEY_KINDS, type KeyKind, rotateKeys, type Rotation } from "../host/secrets/rotate_keys.ts";
import { makeSealer } from "../codec/seal.ts";
import { secretsKnown } from "../host/secrets/file.ts";
import { readStoreSettings } from "./settings.ts";
import { systemClock, systemEntropy } from "../ports/system.ts";
import { UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { storeLocation, withStore } from "./store.ts";

const HELP = `relay keys rotate: new keys in the place of those that sign

Usage:
  relay keys rotate verdict [--organization <id>] [--leave-behind]
  relay keys rotate audit [--organization <id>]

  verdict   The keys that sign what agents are told to run, which agents pin.
  audit     The keys that sign checkpoints and exports of the audit log.

Each organization has one for each of its spaces. The old key signs a hand-over to the new one and is
gone. The new keys are printed, for whoever must be told by a person; back the store up then, because
an older backup brings back keys that others refuse. Whoever has the store may do this; it needs the
same RELAY_KV and RELAY_SECRET as the relay. Stop the relay first where RELAY_KV is a path.

Where a secret or a backup got into wrong hands, run \`relay secret rotate\` before it.

Options:
  --organization <id>   Only this organization's keys.
  --leave-behind        Go on though some agents cannot follow: those refuse the relay until they are
                        updated, or a person writes the new key into their state folder.
  --help                Show this text.

Exit codes:
  0  the keys are others
  1  not all of them are: it says why; run it again, those that are done are changed once more
  2  wrong arguments
`;

interface Options {
  readonly organization?: string;
  readonly "leave-behind"?: boolean;
}

/** Runs `relay keys`; resolves to the exit code. */
export function keysCommand(args: string[]): Promise<number> {
  return runCommand({
    name: "keys",
    help: HELP,
    texts: ["organization"],
    switches: ["leave-behind"],
    positional: 2,
    run: (options, action, kind) => rotate(rotationOf(options, action, kind)),
  }, args);
}

/** @throws {UsageError} */
function rotationOf(options: Options, action?: string, kind?: string): Rotation {
  const usage = `relay keys rotate ${KEY_KINDS.join("|")}`;
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
    throw new Error("the secret of the store is not here: give it in RELAY_SECRET");
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
  console.log(`Done: ${keys} ${rotation.kind} keys are new. Back the store up now.`);
}
