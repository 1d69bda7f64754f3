import type { Tenant } from "../../kv/store/collection.ts";

/** News that one area sends to others after a commit. The composition wires the listeners. */
class Signal<T> {
  readonly #listeners: ((news: T) => void)[] = [];

  constructor(private readonly onError: (error: unknown) => void) {}

  /** Calls `listener` for everything sent from now on. */
  on(listener: (news: T) => void): void {
    this.#listeners.push(listener);
  }

  /** Calls every listener. Never fails, because the change is committed. */
  send(news: T): void {
    for (const listener of this.#listeners) {
      try {
        listener(news);
      } catch (error) {
        this.onError(error);
      }
    }
  }
}

/** Every signal between areas. */
export class Signals {
  /** `onError` gets the failures of listeners. */
  constructor(private readonly onError: (error: unknown) => void) {}

  /** The shield's settings or the applied policies of a tenant changed; `version` names the present ones. */
  readonly shieldChanged = this.#signal<{ readonly tenant: Tenant; readonly version: string }>();

  /** Other policies are in force for a tenant. */
  readonly policiesChanged = this.#signal<{ readonly tenant: Tenant }>();

  /** An event of this type was committed. */
  readonly eventWritten = this.#signal<
    {
      readonly tenant: Tenant;
      readonly type: string;
      readonly details: Readonly<Record<string, unknown>>;
    }
  >();

  /** An API key, or every value of it that somebody may hold, stopped working. */
  readonly credentialEnded = this.#signal<{ readonly id: string }>();

  /** The scopes of an API key were replaced. */
  readonly keyScopesChanged = this.#signal<
    { readonly id: string; readonly scopes: readonly string[] }
  >();

  /** Rights of people of this organization changed; what acts for them must be reviewed. */
  readonly rightsChanged = this.#signal<{ readonly org: string }>();

  /** These people got a notification; older ones beyond the maximum can go. */
  readonly peopleNotified = this.#signal<
    { readonly home: Tenant; readonly userIds: readonly string[] }
  >();

  /** Some instance changed credentials or rights; who holds something open must be checked again. */
  readonly rightsAnnounced = this.#signal<void>();

  /** An MCP session was changed or has ended here. */
  readonly mcpSessionChanged = this.#signal<{ readonly id: string }>();

  /** An MCP session was changed or has ended at another instance. */
  readonly mcpSessionChangedElsewhere = this.#signal<{ readonly id: string }>();

  /** A client cancelled a call of its session that is not under way here. */
  readonly mcpCallCancelled = this.#signal<{ readonly call: string }>();

  /** A client cancelled a call of its session at another instance. */
  readonly mcpCallCancelledElsewhere = this.#signal<{ readonly call: string }>();

  /** An agent was deleted. */
  readonly agentDeleted = this.#signal<{ readonly tenant: Tenant; readonly agentId: string }>();

  /** The labels of an agent have changed, so other policies may concern it. */
  readonly agentRelabelled = this.#signal<{ readonly tenant: Tenant; readonly agentId: string }>();

  /** An approved command waits to be sent to its agent. */
  readonly commandApproved = this.#signal<{ readonly tenant: Tenant; readonly agentId: string }>();

  /** A fleet command was cancelled, or a request for its held commands has ended. */
  readonly fleetCommandChanged = this.#signal<{ readonly tenant: Tenant; readonly id: string }>();

  /** A command was sent to its agent. */
  readonly commandStarted = this.#signal<
    {
      readonly tenant: Tenant;
      readonly command: {
        readonly id: string;
        readonly agent_id: string;
        readonly actor: string;
        readonly started_at_ms: number | null;
      };
    }
  >();

  /** An attempt of a webhook's delivery ended, or the delivery ended without one. */
  readonly deliveryAttempted = this.#signal<
    { readonly tenant: Tenant; readonly webhookId: string }
  >();

  /** A request for approval ended. */
  readonly approvalResolved = this.#signal<
    {
      readonly tenant: Tenant;
      /** How long people took to decide, in ms; null when the request lapsed. */
      readonly waitedMs: number | null;
      /** How its command ended with it; null when the command continues. */
      readonly commandEnded: "rejected" | "expired" | "cancelled" | null;
    }
  >();

  /** A checkpoint of this tenant's log was signed and stored. */
  readonly checkpointSigned = this.#signal<Tenant>();

  /** An integration of this tenant has work: an event or a revocation to send, or tokens to refresh. */
  readonly integrationDue = this.#signal<Tenant>();

  #signal<T>(): Signal<T> {
    return new Signal((error) => this.onError(error));
  }
}
