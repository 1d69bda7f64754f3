import type { Store } from "../../../kv/store/store.ts";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import type { Background, Cancel, Ports } from "../../ports/ports.ts";
import { type Message as News, sendMessage } from "../../work/work.ts";
import { changeOfAttempt } from "./changes.ts";
import type { StartedCommand } from "./message.ts";
import type { Streams } from "./streams.ts";

/** How often an instance with open streams says so, and how long the others believe it. */
const [RENEW_MS, OPEN_MS] = [5_000, 15_000];
/** Started commands are sent together, this long after the first one. */
const GATHER_MS = 25;
/** A webhook whose deliveries were attempted is named once in this time, however many the attempts were. */
const ATTEMPTS_GATHER_MS = 500;
/** Started commands, and webhooks, in one message. A message is a value of the store, so its size is bounded. */
const STARTS_MAX = 50;
const WEBHOOKS_MAX = 50;

interface StreamNewsParts {
  readonly store: Store;
  readonly ports: Ports;
  readonly background: Background;
  readonly streams: Pick<Streams, "changed" | "commandStarted" | "size">;
  /** The id of this process. */
  readonly instance: string;
}

type Starts = Extract<News, { kind: "commands_started" }>["starts"];
type Attempted = Extract<News, { kind: "deliveries_attempted" }>["webhooks"][number];

/**
 * Announces what has no event to the streams of all instances: started commands, and attempts of deliveries. An
 * instance with open streams tells the others every 5 s; only then do they send it the news from there.
 */
export class StreamNews {
  readonly #interested = new Map<string, Cancel>();
  #starts: Starts = [];
  #attempted = new Map<string, Attempted>();
  #timer: Cancel | null = null;

  constructor(
    private readonly parts: StreamNewsParts,
    /** The other instances that are alive. */
    private readonly others: () => string[],
  ) {}

  /** Begins to tell other instances of open streams. */
  start(): void {
    const { background, instance, ports, store, streams } = this.parts;
    this.#timer = ports.clock.after(RENEW_MS, () => {
      this.start();
      const receivers = streams.size === 0 ? [] : this.others();
      if (receivers.length === 0) return;
      background.run("telling other instances of open streams", () =>
        store.transact((tx) => {
          for (const to of receivers) {
            sendMessage(ports, tx, to, { kind: "streams_open", at: instance });
          }
        }));
    });
  }

  stop(): void {
    this.#timer?.();
  }

  /** Another instance has open streams. */
  opened(at: string): void {
    this.#interested.get(at)?.();
    const forget = () => this.#interested.delete(at);
    this.#interested.set(at, this.parts.ports.clock.after(OPEN_MS, forget));
  }

  /** A command was sent to its agent here. */
  started(tenant: Tenant, command: StartedCommand): void {
    const { ports, streams } = this.parts;
    streams.commandStarted(tenant, command);
    if (this.#interested.size === 0) return;
    const { actor, agent_id, id, started_at_ms, thread } = command;
    const gathered = this.#starts.push({
      tenant,
      command: { actor, agent_id, id, started_at_ms, thread },
    });
    if (gathered === 1) ports.clock.after(GATHER_MS, () => this.#send());
    if (gathered === STARTS_MAX) this.#send();
  }

  /** Commands were sent to their agents elsewhere. */
  startedElsewhere(starts: Starts): void {
    for (const { tenant, command } of starts) this.parts.streams.commandStarted(tenant, command);
  }

  /** An attempt of a webhook's delivery ended here. */
  attempted(tenant: Tenant, webhookId: string): void {
    const { ports, streams } = this.parts;
    if (streams.size === 0 && this.#interested.size === 0) return;
    const key = `${tenantKey(tenant)} ${webhookId}`;
    if (this.#attempted.has(key)) return;
    this.#attempted.set(key, { tenant, webhook_id: webhookId });
    if (this.#attempted.size === 1) {
      ports.clock.after(ATTEMPTS_GATHER_MS, () => this.#tellAttempted());
    }
    if (this.#attempted.size === WEBHOOKS_MAX) this.#tellAttempted();
  }

  /** Attempts of deliveries ended, here or elsewhere. */
  attemptedAnywhere(webhooks: readonly Attempted[]): void {
    for (const { tenant, webhook_id } of webhooks) {
      this.parts.streams.changed(tenant, changeOfAttempt(webhook_id));
    }
  }

  #tellAttempted(): void {
    const webhooks = [...this.#attempted.values()];
    this.#attempted.clear();
    if (webhooks.length === 0) return;
    this.attemptedAnywhere(webhooks);
    this.#tellOthers("attempts", { kind: "deliveries_attempted", webhooks });
  }

  #send(): void {
    const starts = this.#starts;
    this.#starts = [];
    if (starts.length > 0) {
      this.#tellOthers("started commands", { kind: "commands_started", starts });
    }
  }

  #tellOthers(what: string, news: News): void {
    const { background, ports, store } = this.parts;
    const receivers = [...this.#interested.keys()];
    if (receivers.length === 0) return;
    background.run(`telling other instances of ${what}`, () =>
      store.transact((tx) => {
        for (const to of receivers) sendMessage(ports, tx, to, news);
      }));
  }
}
