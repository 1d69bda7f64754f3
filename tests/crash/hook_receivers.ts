import { startReceiver } from "../ports/receiver.ts";

/** Receivers of every kind, and what reached them. */
export interface HookReceivers extends AsyncDisposable {
  /** Where each kind listens. */
  readonly urls: Readonly<Record<HookKind, string>>;
  /** How often each delivery came to a receiver that could answer, by delivery id. */
  readonly came: ReadonlyMap<string, number>;
  /** Deliveries that were answered with a 2xx status. */
  readonly accepted: ReadonlySet<string>;
  /**
   * Resolves when all these commands have come to the good receiver; `tell` hears now and then how many
   * are missing.
   * @throws {Error} with how many are missing, and some of them, when none of them has come for `stallMs`
   */
  untilGood(
    commands: Iterable<string>,
    stallMs: number,
    tell: (missing: number) => void,
  ): Promise<void>;
}

const SPOKEN = ["good", "flaky", "hang", "drip", "gone"] as const;
export type HookKind = (typeof SPOKEN)[number] | "reset";
const DRIP_MS = 100;
const TELL_MS = 10_000;

/** Starts them on loopback; they outlive every relay. */
export function startHookReceivers(): HookReceivers {
  const came = new Map<string, number>();
  const accepted = new Set<string>();
  let missing: Set<string> | null = null;
  const good = new Set<string>();
  const complete = Promise.withResolvers<void>();
  const answer: Record<
    (typeof SPOKEN)[number],
    (id: string, body: string) => Response | Promise<Response>
  > = {
    good: (id, body) => {
      const { command } = JSON.parse(body).payload;
      good.add(command);
      missing?.delete(command);
      if (missing?.size === 0) complete.resolve();
      return accept(id);
    },
    flaky: (id) => came.get(id) === 1 ? new Response("no", { status: 500 }) : accept(id),
    gone: () => new Response("no", { status: 503 }),
    hang: () => new Promise<Response>(() => {}),
    drip: (id) => accept(id, dripping()),
  };
  const accept = (id: string, body: BodyInit = "ok") => {
    accepted.add(id);
    return new Response(body);
  };
  // A graceful end would wait for what hangs and drips.
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, signal: closing.signal },
    async (request) => {
      const id = request.headers.get("webhook-id")!;
      const body = await request.text();
      came.set(id, (came.get(id) ?? 0) + 1);
      const kind = new URL(request.url).pathname.slice(1) as (typeof SPOKEN)[number];
      return await answer[kind](id, body);
    },
  );
  const resetting = startReceiver(() => {}, { onConnect: (line) => line.close() });
  const base = `http://127.0.0.1:${server.addr.port}`;
  const spoken = Object.fromEntries(SPOKEN.map((kind) => [kind, `${base}/${kind}`]));
  return {
    urls: { ...spoken, reset: `http://127.0.0.1:${resetting.port}/` } as HookReceivers["urls"],
    came,
    accepted,
    async untilGood(commands, stallMs, tell) {
      missing = new Set(commands).difference(good);
      if (missing.size === 0) return;
      let left = missing.size, sinceMs = performance.now();
      const timer = setInterval(() => {
        tell(missing!.size);
        if (missing!.size !== left) {
          left = missing!.size;
          sinceMs = performance.now();
        }
        if (performance.now() - sinceMs < stallMs) return;
        const some = [...missing!].slice(0, 5).join("; ");
        complete.reject(new Error(`${left} events never came: ${some}`));
      }, TELL_MS);
      await complete.promise.finally(() => clearInterval(timer));
    },
    async [Symbol.asyncDispose]() {
      await resetting[Symbol.asyncDispose]();
      closing.abort();
      await server.finished;
    },
  };
}

/** A body that never ends, a byte at a time. */
function dripping(): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval>;
  return new ReadableStream({
    start(controller) {
      timer = setInterval(() => controller.enqueue(new Uint8Array([46])), DRIP_MS);
    },
    cancel() {
      clearInterval(timer);
    },
  });
}
