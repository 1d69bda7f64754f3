import assert from "node:assert/strict";
import { type Client, expectStatus } from "../clients/status_client.ts";
import { faultsOfTrail, Ledger } from "./ledger.ts";
import type { Caller } from "./load.ts";

/** What must be true after every crash. */
export class AfterCrash implements Caller {
  readonly ledger = new Ledger();
  trail: string[] = [];

  constructor(
    readonly client: Client,
    readonly agentId: string,
    readonly counterFile: string,
    private readonly seed: string,
  ) {}

  /** Every acknowledged change and event is there, and the numbers are dense. */
  async checkRecords(): Promise<void> {
    const exported = await this.client<string>("GET", "/api/audit/export", undefined, {
      accept: "application/x-ndjson",
    });
    const lines = expectStatus(exported, 200, "the export").trimEnd().split("\n");
    lines.pop(); // the proof of the others
    assert.deepEqual(faultsOfTrail(lines, this.trail, this.ledger), [], this.seed);
    this.trail = lines;
    for (const [id, state] of this.ledger.keys) {
      const key = await this.#get<{ status: string }>(`/api/v1/api-keys/${id}`);
      if (state === "unknown") this.ledger.keys.set(id, key.status as "active" | "revoked");
      else assert.equal(key.status, state, `key ${id}, ${this.seed}`);
    }
    for (const [path, state] of this.ledger.others) {
      const { status } = await this.client("GET", path);
      if (state !== "unknown") assert.equal(status, state === "there" ? 200 : 404, path);
    }
  }

  /** The agent takes commands again, and none has run twice. */
  async checkCommands(): Promise<void> {
    const { succeeded, accepted } = this.ledger;
    await this.#get(`/api/exec/${this.agentId}?command=true`);
    const ran = new Map([...succeeded].map(([id, mark]) => [id, mark] as const));
    for (const id of succeeded.keys()) {
      assert.equal(await this.statusOf(id), "succeeded", `command ${id}, ${this.seed}`);
    }
    const unsent: string[] = [];
    for (const [id, mark] of accepted) {
      const status = await this.statusOf(id);
      assert.match(status, /^(succeeded|lost|failed)$/, `command ${id}, ${this.seed}`);
      if (status === "succeeded") ran.set(id, mark);
      if (status === "failed") unsent.push(mark);
    }
    const lines = (await Deno.readTextFile(this.counterFile)).trimEnd().split("\n");
    const marks = new Set(lines);
    assert.equal(marks.size, lines.length, `a command ran twice, ${this.seed}`);
    const missing = [...ran.values()].filter((mark) => !marks.has(mark));
    assert.deepEqual(missing, [], `commands that succeeded did not run, ${this.seed}`);
    const sent = unsent.filter((mark) => marks.has(mark));
    assert.deepEqual(sent, [], `commands that were recorded as not sent ran, ${this.seed}`);
  }

  async statusOf(id: string): Promise<string> {
    const path = `/api/v1/agents/${this.agentId}/commands/${id}`;
    return (await this.#get<{ status: string }>(path)).status;
  }

  async #get<Body>(path: string): Promise<Body> {
    return expectStatus(await this.client<Body>("GET", path), 200, path);
  }
}
