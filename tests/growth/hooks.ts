import { eventJson } from "../../core/events/events.ts";
import { type Owner, tenantOf } from "./fills.ts";
import type { GrownRelay } from "./relay.ts";

/** Receives deliveries, and knows how many came of each event. */
export class Receiver {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #marker = "";
  #missing = 0;
  #all = Promise.withResolvers<void>();

  constructor(port: number) {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, async (request) => {
      const text = await request.text();
      if (text.includes(this.#marker) && --this.#missing === 0) this.#all.resolve();
      return new Response(null, { status: 204 });
    });
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** Commits one event of this type. Resolves when so many deliveries of it have come. */
  async fanOut({ app }: GrownRelay, owner: Owner, type: string, count: number): Promise<void> {
    const tenant = tenantOf(owner), id = app.ports.entropy.id("agt");
    [this.#marker, this.#missing, this.#all] = [id, count, Promise.withResolvers()];
    const work = { ...app, actor: { id: owner.userId } };
    const resource = { type: "agent", id } as const;
    const json = eventJson(work, tenant, { type, resource, details: { name: id } });
    await app.store.append(tenant, type, json);
    await this.#all.promise;
  }

  stop(): Promise<void> {
    return this.#server.shutdown();
  }
}
