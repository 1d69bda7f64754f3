import { type Tenant, tenantKey } from "../../kv/collection.ts";
import type { Link } from "./link.ts";
import type { CloseName } from "../protocol.ts";

const SWEEP_MS = 1_000;

/** The agents' links that this process holds. */
export class Links {
  readonly #links = new Map<string, Link>();
  #timer: (() => void) | null = null;

  constructor(private readonly after: (ms: number, task: () => void) => () => void) {}

  get size(): number {
    return this.#links.size;
  }

  of(tenant: Tenant, agentId: string): Link | undefined {
    return this.#links.get(keyOf(tenant, agentId));
  }

  /** Takes the place of an earlier link of the same agent, which is closed. */
  add(tenant: Tenant, agentId: string, link: Link): void {
    const key = keyOf(tenant, agentId);
    const earlier = this.#links.get(key);
    this.#links.set(key, link);
    earlier?.close("replaced");
    this.#timer ??= this.after(SWEEP_MS, () => this.#sweep());
  }

  remove(tenant: Tenant, agentId: string, link: Link): void {
    const key = keyOf(tenant, agentId);
    if (this.#links.get(key) === link) this.#links.delete(key);
  }

  /** Closes every link that a credential opened: it has lost its rights. */
  closeCredential(credentialId: string): void {
    for (const link of this.#links.values()) {
      if (link.credentialId === credentialId) link.close("credential_refused");
    }
  }

  /** Closes every link, so that the agents look for another instance. */
  closeAll(name: CloseName): void {
    this.#timer?.();
    for (const link of this.#links.values()) link.close(name);
  }

  #sweep(): void {
    for (const link of this.#links.values()) link.checkAlive();
    this.#timer = this.#links.size === 0 ? null : this.after(SWEEP_MS, () => this.#sweep());
  }
}

const keyOf = (tenant: Tenant, agentId: string) => `${tenantKey(tenant)}/${agentId}`;
