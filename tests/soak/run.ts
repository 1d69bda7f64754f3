import { expectStatus, UnreachedError } from "../clients/status_client.ts";
import { EVENT_RIGHTS } from "../../core/events/streams/rights.ts";
import { makeKey } from "../support/processes.ts";
import { random } from "../support/random.ts";
import { commandJobs, type CommandRecord } from "./commands.ts";
import { Disturber, type Mark, planOf } from "./disturbances.ts";
import { hostileJobs, openAddresses } from "./hostile.ts";
import {
  type Checkpoint,
  checkpointOf,
  faultsAtRest,
  faultsOfAudit,
  faultsOfCommands,
  faultsOfWebhooks,
} from "./ledger.ts";
import { SoakRelay } from "./relay.ts";
import { oversightJobs } from "./oversight.ts";
import { furnish, type Place } from "./place.ts";
import { policyJob } from "./policies.ts";
import { QuickReader, slowReaderJobs } from "./readers.ts";
import { type Sample, Sampler } from "./samples.ts";
import { Work } from "./work.ts";

/** How a soak is run. */
export interface SoakOptions {
  readonly seconds: number;
  readonly sampleMs: number;
  readonly seed: number;
  /** Hears how it goes. */
  readonly tell: (text: string) => void;
}

/** What a soak saw and found. */
export interface Soaked {
  /** How long the load lasted: less than was asked for when the soak broke off. */
  readonly seconds: number;
  readonly samples: readonly Sample[];
  readonly marks: readonly Mark[];
  /** What was answered, lost, repeated or recorded wrongly. */
  readonly faults: readonly string[];
  /** How often each job was done. */
  readonly jobs: ReadonlyMap<string, number>;
  /** By state. */
  readonly deliveries: Readonly<Record<string, number>>;
  readonly cuts: number;
}

/** Runs a relay in the folder under all kinds of work, kills it, and examines what is left. */
export async function runSoak(folder: string, options: SoakOptions): Promise<Soaked> {
  const dice = random(options.seed);
  const work = new Work(dice);
  await using ends = new AsyncDisposableStack();
  const relay = new SoakRelay(folder);
  ends.defer(async () => void await relay.stop());
  await relay.start();
  try {
    const place = await furnish(folder, { relay, work, dice }, ends);
    return await soak(place, folder, options, ends);
  } catch (error) {
    console.error(relay.lines.join("\n"));
    throw error;
  }
}

async function soak(
  place: Place,
  folder: string,
  { seconds, sampleMs, tell }: SoakOptions,
  ends: AsyncDisposableStack,
): Promise<Soaked> {
  const { work, owner, dice, relay } = place;
  const record: CommandRecord = { expected: [], victims: [], denied: new Set(), tookMs: [] };
  const streamKey = await makeKey(owner, EVENT_RIGHTS);
  const readers = (["sse", "ws"] as const).map((carrier) =>
    new QuickReader(place, carrier, streamKey)
  );
  for (const reader of readers) ends.defer(() => reader.end());
  const policies = ends.use(await policyJob(place.stranger));
  const addresses = openAddresses().map((address) => ends.use(address));
  // Jobs end before what they use is closed.
  ends.defer(() => work.end());
  const startMs = performance.now();
  const sinceS = () => (performance.now() - startMs) / 1000;
  const sampler = new Sampler(place, record, startMs);
  const checkpoints: Checkpoint[] = [await checkpointOf(owner)];
  const marks: Mark[] = [];
  for (const reader of readers) reader.start();
  work.begin([
    ...commandJobs(place, record),
    ...oversightJobs(place),
    policies,
    ...slowReaderJobs(place, streamKey),
    ...hostileJobs(place, addresses),
  ]);

  const sampling = (async () => {
    while (!work.over && sinceS() < seconds) {
      await sampler.look().catch((error) => {
        if (!(error instanceof UnreachedError)) work.fault("a sample", error);
      });
      await work.rest(sampleMs);
    }
  })();
  const disturber = new Disturber(place);
  let deliveries: Soaked["deliveries"] = {};
  let endedS = seconds;
  // An error here becomes a fault, so that the report still shows what was seen before.
  try {
    for (const { kind, atS } of planOf(seconds, dice)) {
      await work.rest((atS - sinceS()) * 1000);
      if (kind === "relay killed") checkpoints.splice(1, 1, await checkpointOf(owner));
      const mark = { kind, atS: sinceS(), about: "failed" };
      marks.push(mark);
      mark.about = await disturber.do(kind);
      tell(`${mark.atS.toFixed(0)} s: ${kind}, ${mark.about}`);
    }
    await work.rest((seconds - sinceS()) * 1000);
    await sampling;
    await work.end();
    tell("the load has ended; now everything is examined");

    const final = await newestSeq(place);
    await Promise.all(readers.map((reader) => reader.endAfter(final)));
    work.record(await faultsOfWebhooks(place, record));
    work.record(await faultsOfCommands(place, record));
    work.record(await faultsOfAudit(place, folder, readers, checkpoints));
    if (await relay.stop() !== 0) work.record(["the relay did not end in order"]);
    const atRest = await faultsAtRest(place, record);
    work.record(atRest.faults);
    deliveries = atRest.deliveries;
  } catch (error) {
    tell(relay.lines.join("\n"));
    work.record([`the soak broke off: ${error instanceof Error ? error.stack : error}`]);
    await work.end();
    await sampling;
    endedS = Math.min(seconds, sinceS());
  }
  return {
    seconds: endedS,
    samples: sampler.samples,
    marks,
    faults: work.faults,
    jobs: work.times,
    deliveries,
    cuts: readers.reduce((sum, { cuts }) => sum + cuts, 0),
  };
}

/** Runs a last command. Returns the number of its event. */
async function newestSeq({ owner, echoIds }: Place): Promise<number> {
  const path = `/api/exec/${echoIds[0]}?command=uptime`;
  const { command_id } = expectStatus(
    await owner<{ command_id: string }>("GET", path),
    200,
    "the last command",
  );
  const query = `/api/audit?event_type=command_executed&resource_id=${command_id}`;
  const found = await owner<{ events: { seq: number }[] }>("GET", query);
  return expectStatus(found, 200, "its event").events[0]!.seq;
}
