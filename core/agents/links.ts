import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import type { App } from "../work/work.ts";
import { deviceHolder } from "./devices/holder.ts";
import type { Scope } from "../work/scopes.ts";
import type { Link } from "./link.ts";
import { Pace } from "./pace.ts";
import type { CloseName } from "../protocol/close_codes.ts";

/** What a credential needs to open a link, and to keep it. */
export const AGENT_RIGHT: Scope = "agents:admin";
/** Each link of an agent goes on record, and no limit of requests binds it; an agent that cannot stay dials some 30 times. */
const LINKS_PER_MINUTE = 60;
/** A credential that has ended is found within half of the second in which its links must close. */
const SWEEP_MS = 500;

/** The agents' links that this process holds. */
export class Links {
  /** Every link from its first moment to its last, also before it is known whose it is. */
  readonly #open = new Set<Link>();
  /** Those that serve an agent. */
  readonly #links = new Map<string, Link>();
  readonly #recordings = new Set<Promise<void>>();
  readonly #opened: Pace;
  readonly #refused: Pace;
  #timer: (() => void) | null = null;
  #checking: Promise<void> | null = null;

  constructor(private readonly app: () => App) {
    const now = () => app().ports.clock.now();
    this.#opened = new Pace(LINKS_PER_MINUTE, now);
    this.#refused = new Pace(LINKS_PER_MINUTE, now);
  }

  get size(): number {
    return this.#links.size;
  }

  of(tenant: Tenant, agentId: string): Link | undefined {
    return this.#links.get(keyOf(tenant, agentId));
  }

  /** The links of a tenant's agents, or all of them. */
  serving(tenant: Tenant | null): Link[] {
    const links = [...this.#links.values()];
    if (tenant === null) return links;
    const key = tenantKey(tenant);
    return links.filter((link) => tenantKey(link.tenant) === key);
  }

  /** Gives every agent of a tenant the newest checkpoint to keep. */
  witness(tenant: Tenant): void {
    for (const link of this.serving(tenant)) link.witness();
  }

  /** A link has opened; whose it is will show. */
  join(link: Link): void {
    this.#open.add(link);
  }

  /** False for an agent that comes back too often. */
  mayOpen(tenant: Tenant, publicKey: string): boolean {
    return this.#opened.take(`${tenantKey(tenant)}/${publicKey}`);
  }

  /** False when enough is on record of what a credential was refused in this minute. */
  mayTellRefusal(credentialId: string): boolean {
    return this.#refused.take(credentialId);
  }

  /** Takes the place of an earlier link of the same agent, which is closed. */
  add(link: Link, agentId: string): void {
    const key = keyOf(link.tenant, agentId);
    const earlier = this.#links.get(key);
    this.#links.set(key, link);
    earlier?.close("replaced");
    this.#timer ??= this.#sweepLater();
  }

  /** A link has ended; one that took its place stays. */
  leave(link: Link, agentId: string | null): void {
    this.#open.delete(link);
    if (agentId === null) return;
    const key = keyOf(link.tenant, agentId);
    if (this.#links.get(key) === link) this.#links.delete(key);
  }

  /** A change of an agent's record is under way: it never fails, and the relay's end waits for it. */
  recording(change: Promise<void>): void {
    this.#recordings.add(change);
    change.then(() => this.#recordings.delete(change));
  }

  /** Whether the credential that opened a link may open one now. */
  async mayStay({ tenant, credentialId, valueHash }: Link): Promise<boolean> {
    if (valueHash === null) return await deviceHolder(this.app(), tenant, credentialId) !== null;
    const holder = await this.app().authenticator.keyHolder(tenant, credentialId, valueHash);
    return holder?.rights.has(AGENT_RIGHT) ?? false;
  }

  /** Closes every link that a credential opened: it has lost its rights. */
  closeCredential(credentialId: string): void {
    for (const link of this.#open) {
      if (link.credentialId === credentialId) link.close("credential_refused");
    }
  }

  /** Closes every link, so that the agents look for another instance. */
  closeAll(name: CloseName): void {
    this.#timer?.();
    for (const link of this.#open) link.close(name);
  }

  /** Resolves when no look at the credentials and no change of a record is under way. */
  async idle(): Promise<void> {
    await this.#checking;
    while (this.#recordings.size > 0) await Promise.all(this.#recordings);
  }

  #sweepLater(): () => void {
    return this.app().ports.clock.after(SWEEP_MS, () => this.#sweep());
  }

  #sweep(): void {
    for (const link of this.#links.values()) link.checkAlive(SWEEP_MS);
    this.#checking ??= this.#checkCredentials().finally(() => this.#checking = null);
    this.#timer = this.#links.size === 0 ? null : this.#sweepLater();
  }

  /**
   * A value that has ended, was revoked elsewhere, or whose creator lost the right, loses its links. All are
   * looked at at once: one that takes its time, or cannot be looked up, holds up no other.
   */
  async #checkCredentials(): Promise<void> {
    const byValue = Map.groupBy(
      this.#links.values(),
      ({ credentialId, valueHash }) => `${credentialId} ${valueHash}`,
    );
    const errors: unknown[] = [];
    await Promise.all(
      byValue.values().map((links) =>
        this.mayStay(links[0]!).then((mayStay) => {
          if (!mayStay) { for (const link of links) link.close("credential_refused"); }
        }, (error) => errors.push(error))
      ),
    );
    if (errors.length === 0) return;
    const fields = { credentials: errors.length, error: String(errors[0]) };
    this.app().ports.log.warn("the credentials of links could not be checked", fields);
  }
}

const keyOf = (tenant: Tenant, agentId: string) => `${tenantKey(tenant)}/${agentId}`;
