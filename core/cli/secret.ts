import { vacuum } from "../../kv/maintenance/vacuum.ts";
import { makeSealer } from "../codec/codec.ts";
import { systemEntropy } from "../ports/ports.ts";
import {
  nextSecret,
  promoteSecret,
  readSecret,
  rotateSecret,
  type RotationProgress,
  secretPath,
  type Secrets,
} from "../host/host.ts";
import { isRemote } from "../../kv/maintenance/location.ts";
import { readStoreSettings, type StoreSettings } from "../context/context.ts";
import { UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { storeLocation, storePath, withStore } from "./store.ts";

const HELP = `relay secret rotate: seal everything in the store with a new secret

Usage:
  relay secret rotate

For an embedded store (RELAY_KV is a path) with its secret in the file beside it: stop the relay first.
The command makes a new secret, seals everything with it, and replaces the old one.

When RELAY_SECRET holds the secret: set RELAY_SECRET to the new secret and RELAY_SECRET_OLD to the old one
(further ones in RELAY_SECRET_OLD_2 and so on), and restart every instance with both. Then run this
command with the same variables and RELAY_KV. Afterwards remove RELAY_SECRET_OLD.

The command may be interrupted at any point: the relay starts with both secrets, and running it again
completes the rotation. Afterwards the old secret opens nothing in the store, and a relay that has only
the old secret does not start.

Options:
  --help   Show this text.

Exit codes:
  0  everything is sealed with the new secret
  1  something is not; the reason is printed, and both secrets are still needed
  2  wrong arguments
`;

/** The interval of progress lines. */
const REPORT_MS = 1_000;

/** Runs `relay secret`; resolves to the exit code. */
export function secretCommand(args: string[]): Promise<number> {
  return runCommand({ name: "secret", help: HELP, positional: 1, run: rotateEverything }, args);
}

async function rotateEverything(_flags: unknown, action?: string): Promise<void> {
  if (action !== "rotate") throw new UsageError("Say what to do: relay secret rotate.");
  const settings = readStoreSettings(Deno.env.toObject(), false);
  await (settings.secret === null ? rotateFile(settings) : rotateSettings(settings));
}

/** Rotates a secret in a file beside the store. */
async function rotateFile({ kv, olderSecrets }: StoreSettings): Promise<void> {
  const path = storePath(kv);
  const current = readSecret(secretPath(path));
  if (current === null) {
    throw new Error(
      `there is no secret at ${
        secretPath(path)
      }: if the secret is a setting, give the new one in RELAY_SECRET`,
    );
  }
  await rotate(path, () => {
    const secret = nextSecret(path, systemEntropy);
    console.log("Created the next secret. Both secrets are needed until the end.");
    return { secret, olderSecrets: [current, ...olderSecrets] };
  }, () => promoteSecret(path));
  console.log(
    `Done: the new secret is in ${secretPath(path)}, the old one no longer opens anything.`,
  );
}

/** Rotates secrets that are settings. */
async function rotateSettings({ kv, secret, olderSecrets }: StoreSettings): Promise<void> {
  if (olderSecrets.length === 0) {
    throw new Error(
      "RELAY_SECRET_OLD is not set: give the current secret there, and the new one in " +
        "RELAY_SECRET",
    );
  }
  const path = storeLocation(kv);
  await rotate(path, () => ({ secret: secret!, olderSecrets }), () => {});
  console.log("Done: RELAY_SECRET_OLD is no longer needed.");
}

async function rotate(kv: string, secrets: () => Secrets, settle: () => void): Promise<void> {
  await withStore(kv, async (store) => {
    const { secret, olderSecrets } = secrets();
    const sealer = makeSealer(secret, systemEntropy, olderSecrets);
    const lines = progressLines();
    await rotateSecret(store, sealer, lines.report);
    lines.end();
    if (!isRemote(kv)) {
      // The engine leaves old values in the file, which the old secret could open.
      console.log("Everything is sealed with the new secret. Rewriting the file.");
      vacuum(kv);
    }
    settle();
  });
}

/** Prints the progress of a long rotation, and the totals of each kind of record. */
function progressLines(): { report(progress: RotationProgress): void; end(): void } {
  let saidMs = 0, last = "", unsaid = "";
  const say = () => {
    if (unsaid !== "") console.log(unsaid);
    unsaid = "";
    saidMs = performance.now();
  };
  return {
    report({ pass, name, records, resealed }) {
      if (pass > 1) return;
      const begins = name !== last;
      if (begins) say();
      [last, unsaid] = [name, `${name}: ${records} examined, ${resealed} resealed`];
      if (begins || performance.now() - saidMs >= REPORT_MS) say();
    },
    end: say,
  };
}
