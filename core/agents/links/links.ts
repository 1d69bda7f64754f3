import { dueAt } from "../../../kv/store/clock.ts";
import type { AgentRecord } from "../../../kv/records/agent.ts";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import {
  type Actor,
  CHECK_SHARED_MS,
  nextCheckOf,
  type RequestInfo,
  type Scope,
} from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import type { Background } from "../../ports/ports.ts";
import { deviceHolder } from "../devices/holder.ts";
import { Connection } from "./connection.ts";
import type { Link, LinkListeners } from "./link.ts";
import { MinuteLimit } from "../minute_limit.ts";
import type { CloseName } from "../../protocol/protocol.ts";
import type { Wire } from "./sender.ts";

/** The right that a key needs to open a link, and to keep it. */
export const AGENT_RIGHT: Scope = "agents:admin";
/** Each link writes events and no request limit applies to it. An agent whose links keep closing dials about 30 times. */
const LINKS_PER_MINUTE = 60;
/** Links of an ended credential must close within a second; a sweep finds it in half of that. */
const SWEEP_MS = 500;

/** Finds the holder of an API key's value. */
interface KeyHolders {
  /** The holder now; null when the value is no longer accepted. */
  keyHolder(tenant: Tenant, keyId: string, valueHash: string): Promise<Actor | null>;
}

/** The parts that the links of a process use. */
export interface LinkParts {
  readonly context: Context;
  /** The id of this process. */
  readonly instance: string;
  readonly background: Background;
  readonly keys: KeyHolders;
  readonly listeners: LinkListeners;
  /** False while other instances may take over what this one holds. */
  readonly mayHold: () => boolean;
}

/** The agents' links that this process holds. */
export class Links {
  /** Every link from its first moment, including those whose agent is not known yet. */
  readonly #open = new Set<Link>();
  /** Links that serve an agent. */
  readonly #serving = new Map<string, Link>();
  readonly #opened: MinuteLimit;
  readonly #refused: MinuteLimit;
  #timer: (() => void) | null = null;
  #checking: Promise<void> | null = null;
  /** When each link's credential is checked next, in ms; an absent one is due. */
  #nextChecks = new WeakMap<Link, number>();

  constructor(private readonly parts: LinkParts) {
    const { clock } = parts.context.ports;
    this.#opened = new MinuteLimit(LINKS_PER_MINUTE, () => clock.now());
    this.#refused = new MinuteLimit(LINKS_PER_MINUTE, () => clock.now());
  }

  /** Opens the link of a socket. */
  open(actor: Actor, request: Pick<RequestInfo, "id" | "trace">, wire: Wire): Connection {
    return new Connection({ ...this.parts, links: this }, actor, request, wire);
  }

  /** The other instance that holds an agent's link; null when none does. */
  holder({ instance }: Pick<AgentRecord, "instance">): string | null {
    return this.parts.context.store.sole || instance === this.parts.instance ? null : instance;
  }

  get size(): number {
    return this.#serving.size;
  }

  /** The agent's link of this process. For whether the agent is online anywhere, read its `status`. */
  of(tenant: Tenant, agentId: string): Link | undefined {
    return this.#serving.get(keyOf(tenant, agentId));
  }

  /** The links of a tenant's agents, or all of them. */
  serving(tenant: Tenant | null): Link[] {
    const links = [...this.#serving.values()];
    if (tenant === null) return links;
    const key = tenantKey(tenant);
    return links.filter((link) => tenantKey(link.tenant) === key);
  }

  /** Sends every agent of a tenant the newest checkpoint to keep. */
  witness(tenant: Tenant): void {
    for (const link of this.serving(tenant)) link.witness();
  }

  /** A link has opened; its agent is not known yet. */
  join(link: Link): void {
    this.#open.add(link);
  }

  /** False while an agent must connect to another instance. */
  get mayHold(): boolean {
    return this.parts.mayHold();
  }

  /** False for an agent that reconnects too often. */
  mayOpen(tenant: Tenant, publicKey: string): boolean {
    return this.#opened.take(`${tenantKey(tenant)}/${publicKey}`);
  }

  /** False when enough refusals of a credential were recorded in this minute. */
  mayReportRefusal(credentialId: string): boolean {
    return this.#refused.take(credentialId);
  }

  /** Replaces an earlier link of the same agent, which is closed. */
  add(link: Link, agentId: string): void {
    const key = keyOf(link.tenant, agentId);
    const earlier = this.#serving.get(key);
    this.#serving.set(key, link);
    earlier?.close("replaced");
    this.#timer ??= this.#sweepLater();
  }

  /** A link has closed; a newer link of its agent stays. */
  leave(link: Link, agentId: string | null): void {
    this.#open.delete(link);
    if (agentId === null) return;
    const key = keyOf(link.tenant, agentId);
    if (this.#serving.get(key) === link) this.#serving.delete(key);
  }

  /** Whether the credential that opened a link may open one now. */
  async mayStay(link: Link): Promise<boolean> {
    return await this.#holderOf(link) !== null;
  }

  /** Checks every credential now, because rights may have changed. */
  recheck(): void {
    this.#nextChecks = new WeakMap();
    this.#checkInBackground();
  }

  /** The holder of the credential that opened a link; null when it may not open one now. */
  async #holderOf({ tenant, credentialId, valueHash }: Link): Promise<Actor | null> {
    const { context: { store }, keys } = this.parts;
    if (valueHash === null) return await deviceHolder(store, tenant, credentialId);
    const holder = await keys.keyHolder(tenant, credentialId, valueHash);
    return holder?.rights.has(AGENT_RIGHT) ? holder : null;
  }

  /** Closes an agent's link of this number, because the agent has a newer one elsewhere. */
  closeOlder(tenant: Tenant, agentId: string, link: number): void {
    const own = this.of(tenant, agentId);
    if (own?.agent?.link === link) own.close("replaced");
  }

  /** Closes every link of a credential that has lost its rights. */
  closeCredential(credentialId: string): void {
    for (const link of this.#open) {
      if (link.credentialId === credentialId) link.close("credential_refused");
    }
  }

  /** Closes every link, so that the agents connect to another instance. */
  closeAll(name: CloseName): void {
    this.#timer?.();
    this.#timer = null;
    for (const link of this.#open) link.close(name);
  }

  /** Resolves when no check of credentials is running. */
  async idle(): Promise<void> {
    await this.#checking;
  }

  #sweepLater(): () => void {
    return this.parts.context.ports.clock.after(SWEEP_MS, () => this.#sweep());
  }

  #sweep(): void {
    for (const link of this.#serving.values()) link.checkAlive(SWEEP_MS);
    this.#checkInBackground();
    this.#timer = this.#serving.size === 0 ? null : this.#sweepLater();
  }

  #checkInBackground(): void {
    this.#checking ??= this.#checkCredentials().finally(() => this.#checking = null);
  }

  /**
   * Closes the links of values that expired, were revoked elsewhere, or whose creator lost the right. All are
   * checked at once: a slow or failed check delays no other.
   */
  async #checkCredentials(): Promise<void> {
    const { store, ports: { clock, log } } = this.parts.context;
    const nowMs = clock.now();
    // These reads may be older than a change that happens during them; such a change replaces the map.
    const nextChecks = this.#nextChecks;
    const due = [...this.#serving.values()].filter((link) =>
      nowMs >= dueAt(nextChecks.get(link) ?? 0, CHECK_SHARED_MS, nowMs)
    );
    const byValue = Map.groupBy(
      due,
      ({ credentialId, valueHash }) => `${credentialId} ${valueHash}`,
    );
    const errors: unknown[] = [];
    await Promise.all(
      byValue.values().map((links) =>
        this.#holderOf(links[0]!).then((holder) => {
          for (const link of links) {
            if (holder === null) link.close("credential_refused");
            else if (!store.sole) nextChecks.set(link, nextCheckOf(holder, nowMs));
          }
        }, (error) => errors.push(error))
      ),
    );
    if (errors.length === 0) return;
    const fields = { credentials: errors.length, error: String(errors[0]) };
    log.warn("the credentials of links could not be checked", fields);
  }
}

const keyOf = (tenant: Tenant, agentId: string) => `${tenantKey(tenant)}/${agentId}`;
