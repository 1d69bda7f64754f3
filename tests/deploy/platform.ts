import { committing, overKv, strictKv } from "../support/kv.ts";

/**
 * Stands in for Deno Deploy. Loaded before main.ts, it gives `Deno.openKv()` the store that all isolates share, takes
 * the queue away and runs the schedules when it gets SIGUSR2. Long timers never fire outside of a schedule, because the
 * platform may stop an isolate that serves no request.
 */
const LOST_TIMER_MS = Number(Deno.env.get("REHEARSAL_LOST_TIMER_MS") ?? 30_000);

const engine = Deno.openKv;
const store = Deno.env.get("REHEARSAL_STORE");
replace(Deno, "openKv", async (path?: string) => {
  if (path !== undefined) throw new TypeError("the rehearsal has no other store");
  return withoutListening(strictKv(neverLocked(await engine(store))));
});

const schedules: (() => unknown)[] = [];
let scheduled = false;
replace(
  Deno,
  "cron",
  (name: string, schedule: string, _options: unknown, run: () => unknown) => {
    console.log(`schedule ${name}: ${schedule}`);
    schedules.push(run);
  },
);
Deno.addSignalListener("SIGUSR2", async () => {
  scheduled = true;
  for (const run of schedules) await run();
  scheduled = false;
  console.log("schedules have run");
});

const runtimeTimer = setTimeout;
replace(globalThis, "setTimeout", (task: (...args: unknown[]) => void, ms = 0, ...args: []) => {
  return runtimeTimer(scheduled || ms < LOST_TIMER_MS ? task : () => {}, ms, ...args);
});

/** A server never finds its store locked; one of several isolates that share a file may, and has written nothing then. */
function neverLocked(kv: Deno.Kv): Deno.Kv {
  return overKv(committing(kv, untilUnlocked), {
    set: (...args) => untilUnlocked(() => kv.set(...args)),
    delete: (...args) => untilUnlocked(() => kv.delete(...args)),
  });
}

async function untilUnlocked<R>(write: () => Promise<R>): Promise<R> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error as Error).message.includes("database is locked")) throw error;
    }
  }
}

function withoutListening(kv: Deno.Kv): Deno.Kv {
  kv.listenQueue = () => Promise.reject(new TypeError("the platform has no queue"));
  return kv;
}

function replace(of: object, name: string, value: unknown): void {
  Object.defineProperty(of, name, { value });
}
