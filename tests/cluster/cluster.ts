import { delay } from "./wait.ts";
import type { Program } from "../../core/cli/program.ts";
import { type Client, clientOf, UnreachedError } from "../clients/status_client.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import type { OpenStore } from "../../kv/maintenance/open.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Random } from "../support/random.ts";
import { type Denokv, startDenokv } from "./denokv.ts";
import { openClusterStore, startInstance } from "./parts.ts";
import { roundRobin } from "./round_robin.ts";

const INSTANCES = 3;
const START_MS = 60_000;
const INSTANCE_ROWS: Deno.KvKey = ["~", "instance"];

/** Thrown for a request that its instance did not acknowledge: its outcome is unknown. */
export class NotAcknowledged extends Error {}

/** A place of the cluster: an address whose instance may be killed and started again. */
export interface Place {
  readonly url: string;
  /** The id of its instance; null while none runs. */
  id: string | null;
  relay: Program;
  /** Counts the instances that ran here. */
  lives: number;
}

/** Three instances over one denokv server. Each process can be killed and started again at its address. */
export class Cluster implements AsyncDisposable {
  readonly places: Place[] = [];
  readonly #known = new Set<string>();
  #starting: Promise<void> = Promise.resolve();
  #ended = false;

  private constructor(
    private readonly denokv: string,
    private readonly path: string,
    public kv: Denokv,
    private readonly opened: OpenStore,
  ) {}

  static async start(denokv: string, folder: string): Promise<Cluster> {
    const path = `${folder}/store.sqlite`;
    const kv = await startDenokv(denokv, path);
    const cluster = new Cluster(denokv, path, kv, await openClusterStore(kv));
    for (let n = 0; n < INSTANCES; n++) {
      const { relay, url } = await startInstance(kv);
      cluster.places.push({ url, id: await cluster.#newId(), relay, lives: 1 });
    }
    return cluster;
  }

  /** The store, opened by this process beside the instances. */
  get store(): Store {
    return this.opened.store;
  }

  get live(): Place[] {
    return this.places.filter(({ id }) => id !== null);
  }

  proxy() {
    return roundRobin(this.places.map(({ url }) => url));
  }

  /** A client that sends each request to a place at random. */
  client(dice: Random, credential?: string, send = fetch): Client {
    return async (...request) => {
      if (this.live.length === 0) throw new NotAcknowledged("no instance");
      const place = dice.pick(this.live);
      const { lives } = place;
      try {
        return await clientOf(place.url, credential, send)(...request);
      } catch (cause) {
        if (!(cause instanceof UnreachedError)) throw cause;
        if (place.id !== null && place.lives === lives) {
          throw new Error(`${place.url} lives and did not answer ${request[1]}`, { cause });
        }
        throw new NotAcknowledged("killed", { cause });
      }
    };
  }

  /** Kills the instance of a place. Returns its id. */
  async kill(place: Place): Promise<string> {
    const id = place.id!;
    place.id = null;
    await place.relay.kill();
    return id;
  }

  /** Starts a killed instance again, as often as it takes: one that starts may meet a server that is away. */
  restart(place: Place): Promise<void> {
    const started = this.#starting.then(async () => {
      const deadlineMs = performance.now() + START_MS;
      for (;;) {
        try {
          const { relay } = await startInstance(this.kv, new URL(place.url).port);
          Object.assign(place, { relay, id: await this.#newId(), lives: place.lives + 1 });
          return;
        } catch (error) {
          if (this.#ended || performance.now() > deadlineMs) throw error;
          await this.#noteIds();
        }
      }
    });
    this.#starting = started.catch(() => {});
    return started;
  }

  async killStore(): Promise<void> {
    await this.kv.kill();
  }

  async restartStore(): Promise<void> {
    this.kv = await startDenokv(this.denokv, this.path, Number(new URL(this.kv.url).port));
  }

  /** Stops the instances. Returns their exit codes. */
  async stopInstances(): Promise<number[]> {
    const ends = await Promise.all(this.places.map(({ relay }) => relay.stop()));
    return ends.map(({ code }) => code);
  }

  /** Kills everything that still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await this.#starting;
    await Promise.all(this.places.map(({ relay }) => relay.kill()));
    await this.opened.close();
    await this.kv.kill();
  }

  /** The id of the instance that started last. */
  async #newId(): Promise<string> {
    const deadlineMs = performance.now() + START_MS;
    for (;;) {
      const [id] = await this.#noteIds();
      if (id !== undefined) return id;
      if (performance.now() > deadlineMs) throw new Error("an instance wrote no presence");
      await delay(50);
    }
  }

  /** The ids of instances that appeared since the last call. */
  async #noteIds(): Promise<string[]> {
    const ids: string[] = [];
    try {
      for await (const { key } of this.store.kv.list({ prefix: INSTANCE_ROWS })) {
        ids.push(String(key.at(-1)));
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
    const fresh = ids.filter((id) => !this.#known.has(id));
    fresh.forEach((id) => this.#known.add(id));
    return fresh;
  }
}
