import { agents } from "../../kv/records/agent.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import { everyQueued } from "../../kv/store/iterate.ts";
import type { Random } from "../support/random.ts";
import type { Cluster, Place } from "./cluster.ts";
import type { Deaths } from "./deaths.ts";
import type { Organization } from "./organization.ts";
import { startAgent } from "./parts.ts";
import { delay, until } from "./wait.ts";

/** The longest pauses before a kill and before a restart. */
const [KILL_MS, RESTART_MS] = [16_000, 4_000];
/** The pause before each of the first two kills, of which a short run consists. */
const FIRST_MS = 1_000;
const CHANCES = { atOnce: 0.1, store: 0.15, agents: 0.3 };
/** Everything runs again this long after the last kill. */
const RUNNING_MS = 60_000;

/** Kills processes of a cluster at random and starts them again after random pauses. */
export class Killer {
  readonly killed = { instances: 0, agents: 0, stores: 0 };
  readonly #restarts: Promise<unknown>[] = [];
  #storeAway = false;
  /** Fails when a process cannot be started again. */
  readonly failed = Promise.withResolvers<never>();

  constructor(
    private readonly cluster: Cluster,
    private readonly deaths: Deaths,
    private readonly organizations: readonly Organization[],
    private readonly agentPlace: { readonly folder: string; readonly url: string },
    private readonly dice: Random,
  ) {}

  /** The first kill takes the store and the second an instance with its agents; the others are random. */
  async kill(count: number): Promise<void> {
    for (let n = 1; n <= count; n++) {
      const pauseMs = n <= 2 ? FIRST_MS : this.dice.below(KILL_MS);
      await delay(this.dice.chance(CHANCES.atOnce) ? 0 : pauseMs);
      if (!this.#storeAway && (n === 1 || n > 2 && this.dice.chance(CHANCES.store))) {
        await this.#killStore(n === 1 ? FIRST_MS : RESTART_MS);
      } else {
        await until("an instance lives", RUNNING_MS, () => this.cluster.live.length > 0);
        const place = n === 2 ? await this.#placeOfAnAgent() : this.dice.pick(this.cluster.live);
        await this.#killInstance(place, n === 2 || this.dice.chance(CHANCES.agents));
      }
    }
    await Promise.all(this.#restarts);
    await until("takeovers have ended", RUNNING_MS, () => this.deaths.open === 0);
    await Promise.all(this.#restarts);
  }

  async #killStore(restartMs: number): Promise<void> {
    this.killed.stores++;
    this.#storeAway = true;
    this.deaths.storeAway();
    await this.cluster.killStore();
    this.#later(async () => {
      await delay(this.dice.below(restartMs));
      await this.cluster.restartStore();
      this.#storeAway = false;
      this.deaths.storeBack(this.#liveIds());
    });
  }

  async #killInstance(place: Place, withAgents: boolean): Promise<void> {
    this.killed.instances++;
    const victims = withAgents ? await this.#agentsOf(place.id!) : [];
    const [id] = await Promise.all([
      this.cluster.kill(place),
      ...victims.map(({ agent }) => agent.program.kill()),
    ]);
    await this.deaths.add(id, this.#liveIds());
    this.#later(async () => {
      await delay(this.dice.below(RESTART_MS));
      await this.cluster.restart(place);
      this.deaths.started(this.#liveIds());
    });
    for (const victim of victims) {
      this.killed.agents++;
      this.#later(async () => {
        // Only an agent that stays away shows that others set it offline.
        await until("a takeover ends", 10 * RUNNING_MS, () => !this.deaths.isOpen(id));
        await until("an instance lives", RUNNING_MS, () => this.cluster.live.length > 0);
        const { folder, url } = this.agentPlace;
        const { agentKey: key, name } = victim;
        victim.agent = await startAgent({ url, key, folder, name });
      });
    }
  }

  async #placeOfAnAgent(): Promise<Place> {
    let found: Place | undefined;
    await until("an agent is linked", RUNNING_MS, async () => {
      for (const place of this.cluster.live) {
        if ((await this.#agentsOf(place.id!)).length > 0) found = place;
      }
      return found !== undefined;
    });
    return found!;
  }

  async #agentsOf(id: string): Promise<Organization[]> {
    const linked = new Set<string>();
    try {
      const options = { prefix: [id], limit: 50 };
      for await (const { record } of everyQueued(this.cluster.store, agents, "linked", options)) {
        linked.add(record.id);
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
    return this.organizations.filter(({ agent }) => linked.has(agent.id));
  }

  #liveIds = () => this.cluster.live.map(({ id }) => id!);

  #later(restart: () => Promise<void>): void {
    const restarted = restart();
    restarted.catch(this.failed.reject);
    this.#restarts.push(restarted);
  }
}
