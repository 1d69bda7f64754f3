import { shieldSessions } from "../../../kv/records/shield.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import type { Context } from "../../context/context.ts";
import type { Background } from "../../ports/ports.ts";
import type { Examination, Memory } from "../../shield/shield.ts";
import { leavesBehind, SessionMemory } from "./session_memory.ts";

/** Remembered sessions of a sole writer; the least recently used are forgotten. */
const SESSIONS_MAX = 2_048;

/** One session's memory, while one of its commands is judged. */
export interface Session {
  /** What the judgement needs; null when nothing is remembered. */
  recall(): Memory | null;
  /**
   * Remembers a command before it runs. Returns what to call when it has succeeded; null for a command that leaves
   * nothing behind.
   */
  note(
    step: string,
    examination: Examination,
    steps: readonly string[],
  ): Promise<(() => void) | null>;
}

/** The sessions of the shield's behaviour layer. `key` names a session within a tenant. */
export interface Sessions {
  open(db: Reader, tenant: Tenant, key: string): Session | Promise<Session>;
}

/** Sessions in the memory of the only process that judges commands. */
export class SoleSessions implements Sessions {
  readonly #all = new RecentMap<SessionMemory>(SESSIONS_MAX);

  constructor(private readonly now: () => number) {}

  open(_db: Reader, { org, space }: Tenant, key: string): Session {
    const name = `${org} ${space} ${key}`;
    return {
      recall: () => this.#all.get(name)?.recall(this.now()) ?? null,
      note: (step, examination, steps) => {
        const memory = this.#all.get(name) ?? new SessionMemory();
        if (!leavesBehind(examination)) return Promise.resolve(null);
        memory.note(step, examination, steps, this.now());
        this.#all.set(name, memory);
        return Promise.resolve(() => memory.succeeded(step));
      },
    };
  }
}

/**
 * Sessions in the store, so that a chain over several instances is one chain. Only a command that leaves something
 * behind causes a write, which is committed before the command is sent.
 */
export class StoredSessions implements Sessions {
  constructor(
    private readonly context: Pick<Context, "store" | "ports">,
    private readonly background: Background,
  ) {}

  async open(db: Reader, tenant: Tenant, key: string): Promise<Session> {
    const { clock } = this.context.ports;
    const memory = new SessionMemory(await db.get(shieldSessions, tenant, key));
    return {
      recall: () => memory.recall(clock.now()),
      note: async (step, examination, steps) => {
        if (!leavesBehind(examination)) return null;
        await this.#change(
          tenant,
          key,
          (now) => now.note(step, examination, steps, clock.now()),
        );
        return () => this.#succeeded(tenant, key, step);
      },
    };
  }

  #succeeded(tenant: Tenant, key: string, step: string): void {
    this.background.run(
      "recording the files of a command",
      () => this.#change(tenant, key, (memory) => memory.succeeded(step)),
    );
  }

  #change(tenant: Tenant, key: string, change: (memory: SessionMemory) => void): Promise<void> {
    const { store, ports: { clock } } = this.context;
    return store.transact(async (tx) => {
      const memory = new SessionMemory(await tx.get(shieldSessions, tenant, key));
      change(memory);
      tx.put(shieldSessions, tenant, memory.toRecord(key, clock.now()));
    });
  }
}
