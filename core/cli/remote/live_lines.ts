import type { Client, FleetMember, OutputChunk } from "../../client/client.ts";
import { printableLine } from "../printable_line.ts";
import { followCommand } from "./follow.ts";
import type { Host } from "./host.ts";

type Stream = OutputChunk["stream"];

/** Prints the output of one of many commands, in whole lines behind its agent's name. */
export class LiveLines {
  readonly #name: string;
  readonly #stop = new AbortController();
  #failure: unknown = null;
  readonly #taken: Record<Stream, number> = { stdout: 0, stderr: 0 };
  /** Lines that have not ended. */
  readonly #rest: Record<Stream, string> = { stdout: "", stderr: "" };

  constructor(private readonly host: Host, private readonly member: FleetMember) {
    this.#name = member.agent_name ?? member.agent_id;
  }

  /** Prints output as it comes. What cannot be followed is printed at the end. */
  follow(client: Client): void {
    followCommand(client, this.member, (chunk) => this.#take(chunk), this.#stop.signal)
      .catch((error) => this.#failure = error);
  }

  /** @throws {Deno.errors.BrokenPipe} when nobody reads the output any more */
  mustHaveReader(): void {
    if (this.#failure instanceof Deno.errors.BrokenPipe) throw this.#failure;
  }

  /** Prints what is left of the whole output. */
  async end({ stdout, stderr }: Readonly<Record<Stream, string>>): Promise<void> {
    this.leave();
    for (const [stream, text] of Object.entries({ stdout, stderr }) as [Stream, string][]) {
      const left = this.#rest[stream] + text.slice(this.#taken[stream]);
      await this.#print(stream, left === "" || left.endsWith("\n") ? left : `${left}\n`);
    }
  }

  leave(): void {
    this.#stop.abort();
  }

  async #take({ stream, data }: Pick<OutputChunk, "stream" | "data">): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#taken[stream] += data.length;
    const text = this.#rest[stream] + data;
    const cut = text.lastIndexOf("\n") + 1;
    this.#rest[stream] = text.slice(cut);
    await this.#print(stream, text.slice(0, cut));
  }

  async #print(stream: Stream, lines: string): Promise<void> {
    if (lines === "") return;
    const text = lines.slice(0, -1).split("\n").map((line) => `${this.#name}: ${harmless(line)}\n`)
      .join("");
    await (stream === "stdout" ? this.host.write(text) : this.host.writeError(text));
  }
}

/** A line in which nothing can move the cursor and write over the lines of other agents. */
const harmless = (line: string): string =>
  line.replace(/\r$/, "").split("\t").map(printableLine).join("\t");
