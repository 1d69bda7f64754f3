import { readFileSync } from "node:fs";
import { exec, linkAgent, makeHook } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";

const CERTIFICATE = new URL("../fixtures/tls/localhost.pem", import.meta.url);
/** Settings of a relay that exports every metric. */
export const EVERYTHING = {
  settings: { kv: "/nowhere/relay.kv", tls: { cert: readFileSync(CERTIFICATE, "utf8"), key: "" } },
};

/** One line of a scrape. */
interface Line {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One family of a scrape. */
export interface Scraped {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly lines: readonly Line[];
}

/** What a relay's `/metrics` says, as Prometheus reads it. */
export class Scrape {
  private constructor(readonly text: string, readonly families: readonly Scraped[]) {}

  static async of(world: World, token: string): Promise<Scrape> {
    const { text } = await world.call("GET", "/metrics", { as: token });
    return Scrape.parse(text);
  }

  static parse(text: string): Scrape {
    const families = text.split(/^(?=# HELP )/m).map((block): Scraped => {
      const [help, type, ...lines] = block.trim().split("\n");
      const [, name] = /^# TYPE (\S+) /.exec(type!)!;
      return {
        name: name!,
        help: help!.slice(`# HELP ${name} `.length),
        type: type!.slice(`# TYPE ${name} `.length),
        lines: lines.map(lineOf),
      };
    });
    return new Scrape(text, families);
  }

  /** The value of a sample such as `name{label="value"}`; NaN when there is none. */
  value(sample: string): number {
    const { name, labels } = lineOf(`${sample} 0`);
    const found = this.families.flatMap(({ lines }) => lines).find((line) =>
      line.name === name && JSON.stringify(line.labels) === JSON.stringify(labels)
    );
    return found?.value ?? NaN;
  }

  /** How many durations a histogram holds, and their sum in seconds. */
  durations(name: string): [count: number, seconds: number] {
    return [this.value(`${name}_count`), this.value(`${name}_sum`)];
  }
}

function lineOf(line: string): Line {
  const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)!;
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, of]) => [label!, of!]);
  return { name: name!, labels: Object.fromEntries(pairs), value: Number(value) };
}

/** A scrape of a relay that has done something of everything. */
export async function busyScrape(): Promise<Scrape> {
  await using world = await World.open(EVERYTHING);
  const here = await linkAgent(world);
  await makeHook(world, here.owner, ["command_executed"]);
  for (const command of ["uptime", "rm -rf /", "systemctl stop nginx"]) {
    await exec(world, here, command);
  }
  await world.settle();
  return await Scrape.of(world, here.owner.token);
}
