import { withoutUsers } from "../../kv/engine/errors.ts";
import type { Tracing } from "../../kv/store/trace.ts";
import { atLevel, logLine } from "./log_line.ts";
import type { Clock, Entropy, Log, Ports } from "./interfaces.ts";
import { safeOutbound } from "./outbound/safe_outbound.ts";
import { passwordCost } from "./password_hash.ts";

/** The longest delay of a runtime timer. */
const TIMER_MS_MAX = 2_147_483_647;
const BASE36_MS_CHARS = 9; // 36^9 ms reaches the year 5188

/** The largest step back of the wall clock for which time stands still. */
const HELD_MS_MAX = 5_000;
/** The real clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: steadyNow(() => Date.now()),
  monotonic: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, Math.min(ms, TIMER_MS_MAX));
    Deno.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * A clock that stands still while the wall clock is a little behind what it has shown, so that a correction does not
 * reorder what one process records. A larger step back is followed, because codes and tokens of others depend on
 * the right time; stored instants that are then in the future fall under the rule of kv/store/clock.ts.
 */
export function steadyNow(wallMs: () => number): () => number {
  let shownMs = 0;
  return () => {
    const nowMs = wallMs();
    if (nowMs > shownMs || shownMs - nowMs > HELD_MS_MAX) shownMs = nowMs;
    return shownMs;
  };
}

// The time prefix of ids, cached because many ids are made in one millisecond.
let timeMs = NaN;
let time = "";

/** The real source of randomness. */
export const systemEntropy: Entropy = {
  uuid: () => crypto.randomUUID(),
  bytes: (n) => crypto.getRandomValues(new Uint8Array(n)),
  id(prefix) {
    const nowMs = systemClock.now();
    if (nowMs !== timeMs) {
      timeMs = nowMs;
      time = nowMs.toString(36).padStart(BASE36_MS_CHARS, "0");
    }
    const uuid = crypto.randomUUID();
    return `${prefix}_${time}${uuid.slice(0, 8)}${uuid.slice(9, 13)}${uuid.slice(14, 18)}` +
      `${uuid.slice(19, 23)}${uuid.slice(24, 26)}`;
  },
  unit: () => Math.random(),
};

/** Writes one JSON object a line to standard error. */
export const systemLog: Log = {
  info: (message, fields) => write("info", message, fields),
  warn: (message, fields) => write("warn", message, fields),
  error: (message, fields) => write("error", message, fields),
};

function write(level: string, message: string, fields: Readonly<Record<string, unknown>> = {}) {
  const at = new Date().toISOString();
  logLine(console.error, withoutUsers(JSON.stringify({ at, level, message, ...fields })));
}

/** The ports that only the program itself has. */
type OfProgram = Pick<Ports, "programs" | "storeBackups">;

const NO_PROGRAM: OfProgram = {
  programs: { find: () => Promise.resolve(null) },
  storeBackups: { add: () => Promise.reject(new Error("this relay cannot start `relay backup`")) },
};

/** What the ports of a running program depend on. */
interface PortOptions extends Partial<OfProgram> {
  readonly tracing?: Tracing | null;
  /** The least level of lines in the log. */
  readonly logLevel?: keyof Log;
}

/** The ports of a running program. */
export function systemPorts(
  allowPrivateTargets: () => boolean,
  { tracing = null, logLevel = "info", ...ofProgram }: PortOptions = {},
): Ports {
  const clock = systemClock;
  return {
    clock,
    entropy: systemEntropy,
    outbound: safeOutbound({ allowPrivateTargets, clock }),
    log: atLevel(systemLog, logLevel),
    passwordCost: passwordCost(),
    tracing,
    ...NO_PROGRAM,
    ...ofProgram,
  };
}
