import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { dirname } from "node:path";
import { freeBytes, isThere } from "../../kv/maintenance/disk.ts";
import { isOwned } from "../../kv/maintenance/open.ts";
import {
  type AddressState,
  examineFile,
  examineServer,
  type Finding,
  judgeAddress,
  judgeCertificate,
} from "../host/host.ts";
import { isRemote } from "../../kv/maintenance/location.ts";
import { systemClock, systemEntropy } from "../ports/ports.ts";
import { runCommand } from "./command.ts";
import { ownSettings, type Settings } from "./own_settings.ts";

const HELP = `relay doctor: diagnose this installation

Usage:
  relay doctor [--json]

Checks the settings, the store and its secret, the clock, the disk, the newest backup, the address, the
certificate, due deliveries and expired rows. It prints a line for each: "ok", or "note" or "FAULT" with
what to do. It reads the settings of \`relay serve\` from the environment, changes nothing, and may run
while a relay serves. It reads the whole store and the newest scheduled backup, which may take minutes.

Options:
  --json   Print one JSON object: "ok", and "findings" with the name, state and text of each.
  --help   Show this text.

Exit codes:
  0  there is no fault
  1  there is a fault: see the lines with FAULT
  2  wrong arguments
`;

/** The time in which a relay must identify itself. */
const ANSWER_MS = 2_000;

/** Runs `relay doctor`; resolves to the exit code. */
export function doctorCommand(args: string[]): Promise<number> {
  return runCommand({
    name: "doctor",
    help: HELP,
    switches: ["json"],
    async run({ json = false }) {
      const findings = await examine();
      const ok = findings.every(({ state }) => state !== "fault");
      if (json) console.log(JSON.stringify({ ok, findings }));
      else print(findings);
      return ok ? 0 : 1;
    },
  }, args);
}

function print(findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const { name, state, text } of findings) {
    const mark = state === "fault" ? "FAULT" : state;
    console.log(`${mark.padEnd(5)}  ${name.padEnd(width)}  ${text}`);
  }
}

async function examine(): Promise<Finding[]> {
  let settings: Settings;
  try {
    settings = ownSettings();
  } catch (error) {
    return [{ name: "settings", state: "fault", text: (error as Error).message }];
  }
  const nowMs = systemClock.now();
  const { served, findings } = await examineStore(settings, nowMs);
  findings.unshift({ name: "settings", state: "ok", text: "all settings are valid" });
  const { host, port, tls } = settings;
  const at = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  findings.push(judgeAddress(at, await stateOf(settings, at, served), served));
  if (tls !== null) findings.push(judgeCertificate(tls.cert, mismatchOf(tls), nowMs));
  return findings;
}

/** Why the runtime rejects a certificate and its key, if it does. */
function mismatchOf(tls: NonNullable<Settings["tls"]>): string | null {
  try {
    Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls }).close();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The findings about the store, and whether a relay has it. A database server may always have one. */
async function examineStore(settings: Settings, nowMs: number) {
  const { kv, config } = settings;
  const { backups, retention_days: retentionDays } = config;
  const about = { settings, backups, retentionDays, nowMs, entropy: systemEntropy };
  if (kv === null || kv === ":memory:") return { served: false, findings: [inMemory] };
  if (isRemote(kv)) return { served: true, findings: await examineServer(kv, about) };
  try {
    const served = isOwned(kv);
    const findings = isThere(kv)
      ? await examineFile(kv, about, { served, freeBytes: freeBytes(dirname(kv)) })
      : [notYet(kv)];
    return { served, findings };
  } catch (error) {
    const text = `${(error as Error).message}: run this as the relay's user, or see RELAY_KV`;
    const finding: Finding = { name: "store", state: "fault", text };
    return { served: false, findings: [finding] };
  }
}

const inMemory: Finding = {
  name: "store",
  state: "note",
  text: "in memory: everything is lost when the relay stops; set RELAY_KV to a path to keep it",
};

const notYet = (kv: string): Finding => ({
  name: "store",
  state: "note",
  text: `there is no store at ${kv} yet: the relay creates it at its start, or set RELAY_KV`,
});

/** Finds who listens on the address, without binding it: a relay may be starting. */
async function stateOf(
  { host, port, tls }: Settings,
  at: string,
  served: boolean,
): Promise<AddressState> {
  const refusal = await bindError(host, port);
  if (refusal !== null) return refusal;
  if (port === 0) return "free"; // any free port will do
  try {
    (await Deno.connect({ hostname: host, port })).close();
  } catch {
    return "free";
  }
  // The certificate need not be valid for a bare address, so no request is sent over TLS.
  if (tls !== null) return served ? "relay" : "taken";
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch(`http://${at}/healthz`, { signal });
    const { status } = await answer.json() as { status?: unknown };
    return answer.ok && status === "ok" ? "relay" : "taken";
  } catch {
    return "taken";
  }
}

/** Checks whether the address can be bound, through its UDP port, which no relay uses. */
async function bindError(host: string, port: number): Promise<AddressState | null> {
  try {
    const { address, family } = await lookup(host);
    const socket = createSocket(family === 6 ? "udp6" : "udp4");
    try {
      const listening = once(socket, "listening");
      socket.bind(port, address);
      await listening;
    } finally {
      socket.close();
    }
    return null;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "EADDRINUSE") return null;
    return code === "EACCES" ? "forbidden" : "not_here";
  }
}
