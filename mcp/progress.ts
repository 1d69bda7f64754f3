import type { Exchange } from "./exchange.ts";
import { type Id, notification, type Params } from "./json_rpc.ts";
import { metaOf } from "./params.ts";
import { META_LOG_LEVEL } from "./revision.ts";

/** The least time between two notifications of output. */
const INTERVAL_MS = 100;
/** The most output in one notification. */
const CHARS_MAX = 16 * 1024;

/** Notifies a client while its call runs. */
export interface Progress {
  /** False for a client that did not ask for output. */
  readonly wantsOutput: boolean;
  /** Sends output at once, or together with what follows soon. */
  write(text: string): void;
  /** Sends a log message, if the client's log level asks for it. */
  log(data: Params): void;
  /** Sends the rest; nothing may follow. */
  end(): void;
}

/** The log levels, from the least important on. */
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

/** Reports progress to the client of an exchange, as far as the client asked for it. */
export function reportProgress(exchange: Exchange): Progress {
  const { sink, relay } = exchange;
  const token = metaOf(exchange).progressToken as Id | undefined;
  const wantsOutput = sink !== null && (typeof token === "string" || typeof token === "number");
  let progress = 0;
  let waiting = "";
  let cancel: (() => void) | null = null;
  const sendNext = () => {
    cancel?.();
    cancel = null;
    if (waiting === "") return;
    const message = waiting.slice(0, CHARS_MAX);
    waiting = waiting.slice(CHARS_MAX);
    const params = { progressToken: token, progress: ++progress, message };
    sink!.send(notification("notifications/progress", params));
    cancel = relay.ports.clock.after(INTERVAL_MS, sendNext);
  };
  return {
    wantsOutput,
    write(text) {
      waiting += text;
      if (cancel === null) sendNext();
    },
    log(data) {
      if (sink === null || !wantsLog(exchange)) return;
      const params = { level: "info", logger: "relay", data };
      sink.send(notification("notifications/message", params));
    },
    end() {
      while (waiting !== "") sendNext();
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
