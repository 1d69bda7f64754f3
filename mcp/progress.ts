import { type Exchange, metaOf } from "./exchange.ts";
import { META_LOG_LEVEL } from "./headers.ts";
import { type Id, type Params } from "./rpc.ts";

/** Output is told at most this often, and this much of it at once. */
const INTERVAL_MS = 100;
const CHARS_MAX = 16 * 1024;

/** Tells a client what happens while it waits. */
export interface Progress {
  /** More output: told at once, or together with what comes soon after. */
  write(text: string): void;
  /** Something for the client's log, if it wants to know. */
  log(data: Params): void;
  /** Tells what is left; nothing comes after. */
  end(): void;
}

/** The levels of a log, from the least important on. */
export const LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;
const INFO = LEVELS.indexOf("info");

/** Reports to the client of an exchange, as far as it asked for that. */
export function reportProgress(exchange: Exchange): Progress {
  const { sink, relay } = exchange;
  const token = metaOf(exchange).progressToken as Id | undefined;
  const wanted = sink !== null && (typeof token === "string" || typeof token === "number");
  let progress = 0;
  let waiting = "";
  let cancel: (() => void) | null = null;
  const tell = () => {
    cancel?.();
    cancel = null;
    if (waiting === "") return;
    const message = waiting.slice(0, CHARS_MAX);
    waiting = waiting.slice(CHARS_MAX);
    sink!.notify("notifications/progress", { progressToken: token, progress: ++progress, message });
    cancel = relay.ports.clock.after(INTERVAL_MS, tell);
  };
  return {
    write(text) {
      if (!wanted) return;
      waiting += text;
      if (cancel === null) tell();
    },
    log(data) {
      if (sink === null || !wantsLog(exchange)) return;
      sink.notify("notifications/message", { level: "info", logger: "relay", data });
    },
    end() {
      while (waiting !== "") tell();
      cancel?.();
    },
  };
}

function wantsLog(exchange: Exchange): boolean {
  const level = exchange.era === "modern"
    ? metaOf(exchange)[META_LOG_LEVEL]
    : exchange.session?.log_level;
  const at = LEVELS.indexOf(level as typeof LEVELS[number]);
  return at !== -1 && at <= INFO;
}
