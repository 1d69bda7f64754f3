import { onStopSignal } from "./process.ts";
import { unreadVariables } from "../context/context.ts";
import { Fault } from "../fault/fault.ts";
import { VERSION } from "../protocol/protocol.ts";
import { type Clock, systemClock, systemLog, within } from "../ports/ports.ts";
import { type Serving, type Started, startFrom, stopServing, SYSTEM_PORTS } from "./serve.ts";

/** A failed start is tried again by the first request after this time. */
const RETRY_MS = 5_000;
/** How long a request waits for the start. */
const WAIT_MS = 20_000;
/** The time that running requests get when the platform stops the process, which it kills after 5 s. */
const DRAIN_MS = 2_000;

/** Exceeds the time for which an instance must watch a stalled one before it takes over. */
const WATCH_MS = 20_000;

/** A relay on a hosting platform. */
export interface Hosted {
  /**
   * Runs the periodic tasks once. While there are other instances it waits for 20 s, because timers may not run
   * between requests, and an instance must keep watching to notice that another one is dead.
   */
  housekeep(): Promise<void>;
  /** Resolves to the exit code when the platform has stopped the relay. */
  readonly ended: Promise<number>;
}

/**
 * Serves where a platform starts processes for requests and gives them an address. It listens before the relay has
 * started, because a process that ends early shows its caller no reason: a start that fails is logged, and requests
 * get 503 until one succeeds.
 */
export function serveHosted(load: () => Promise<Serving>): Hosted {
  const env = Deno.env.toObject();
  for (const unread of unreadVariables(env)) systemLog.warn(unread);
  const loading = load();
  const relay = new Starting(systemClock, async () => {
    const [started, { front }] = await Promise.all([startFrom(env, true), loading]);
    announce(started);
    return { running: started.running, ...front(started.running) };
  }, (error) => systemLog.error("the relay could not start", { error: messageOf(error) }));
  const onError = async (error: unknown) => (await loading).refuse(SYSTEM_PORTS, error);
  const server = Deno.serve({ onError }, (request, info) => {
    const { started } = relay;
    return started === null
      ? relay.wait().then(({ handler }) => handler(request, info))
      : started.handler(request, info);
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  onStopSignal(async () => {
    const { started } = relay;
    if (started === null) return end(0);
    end(await stopServing(server, started.running, started.close, DRAIN_MS) ? 0 : 1);
  });
  const housekeep = async () => {
    const { running } = await relay.wait();
    await running.housekeep();
    if (running.app.presence.others().length > 0) await systemClock.sleep(WATCH_MS);
  };
  return { housekeep, ended };
}

/** A part that starts once, and again after a failure. */
export class Starting<T> {
  /** The part, or null while it starts and after a failure. */
  started: T | null = null;
  #starting: Promise<T | null>;
  #failedMs: number | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly start: () => Promise<T>,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#starting = this.#try();
  }

  /** The part. Starts it anew when the last start failed 5 s ago. @throws {Fault} UNAVAILABLE */
  async wait(): Promise<T> {
    const failedMs = this.#failedMs;
    if (failedMs !== null && this.clock.now() >= failedMs + RETRY_MS) {
      this.#failedMs = null;
      this.#starting = this.#try();
    }
    const started = await within(this.clock, WAIT_MS, this.#starting);
    if (started !== null) return started;
    const message = this.#failedMs === null
      ? "Relay is still starting."
      : "Relay could not start. Its log tells the administrator why.";
    throw new Fault("UNAVAILABLE", message, { retry_after: RETRY_MS / 1000 });
  }

  async #try(): Promise<T | null> {
    try {
      return this.started = await this.start();
    } catch (error) {
      this.#failedMs = this.clock.now();
      this.onError(error);
      return null;
    }
  }
}

/** Logs what the platform has no terminal for: the claim code, until somebody has signed up. */
function announce({ running: { claimed, claimCode }, settings: { publicUrl } }: Started): void {
  systemLog.info("ready", { version: VERSION });
  if (publicUrl === null) {
    systemLog.warn("RELAY_PUBLIC_URL is not set: integrations cannot use OAuth");
  }
  if (claimed) return;
  systemLog.info("nobody has signed up yet: the first signup needs this claim code", {
    claim_code: claimCode,
  });
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
