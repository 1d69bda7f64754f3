import type { Clock, Entropy, Log, Ports } from "./ports.ts";
import { Buffer } from "node:buffer";
import { safeOutbound } from "./outbound/safe_outbound.ts";
import type { Settings } from "./settings.ts";

/** The longest that a timer of the runtime can wait. */
const TIMER_MS_MAX = 2_147_483_647;
const BASE36_MS_CHARS = 9; // 36^9 ms reaches the year 5188

/** The real clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, Math.min(ms, TIMER_MS_MAX));
    Deno.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The real source of randomness. */
export const systemEntropy: Entropy = {
  uuid: () => crypto.randomUUID(),
  bytes: (n) => crypto.getRandomValues(new Uint8Array(n)),
  id(prefix) {
    const time = Date.now().toString(36).padStart(BASE36_MS_CHARS, "0");
    return `${prefix}_${time}${crypto.randomUUID().replaceAll("-", "").slice(0, 22)}`;
  },
  unit: () => Math.random(),
};

/** One JSON object a line on standard error, for whoever collects logs. */
export const systemLog: Log = {
  info: (message, fields) => write("info", message, fields),
  warn: (message, fields) => write("warn", message, fields),
  error: (message, fields) => write("error", message, fields),
};

function write(level: string, message: string, fields: Readonly<Record<string, unknown>> = {}) {
  const at = new Date().toISOString();
  console.error(JSON.stringify({ at, level, message, ...fields }));
}

/** The real world. */
export function systemPorts(allowPrivateTargets: () => boolean): Ports {
  const clock = systemClock;
  return {
    clock,
    entropy: systemEntropy,
    outbound: safeOutbound({ allowPrivateTargets, clock }),
    log: systemLog,
  };
}

const SECRET_BYTES = 32;

/** RELAY_SECRET, or, for an embedded store, the one in the file beside it, made at the first start. */
export function secretOf({ secret, kv }: Settings): string {
  if (secret !== null) return secret;
  const fresh = Buffer.from(systemEntropy.bytes(SECRET_BYTES)).toString("base64");
  if (kv === null || kv === ":memory:") return fresh;
  const path = `${kv}.secret`;
  try {
    return Deno.readTextFileSync(path).trim();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  // A file that is there whole or not at all: a crash in between must not leave half a secret.
  Deno.writeTextFileSync(`${path}.new`, `${fresh}\n`, { mode: 0o600 });
  Deno.renameSync(`${path}.new`, path);
  return fresh;
}
