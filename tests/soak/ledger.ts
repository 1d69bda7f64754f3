import { type Client, expectStatus } from "../clients/status_client.ts";
import { isWebhookEvent } from "../../core/events/types/webhook_events.ts";
import { systemClock } from "../../core/ports/system.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { examineDeliveries } from "../crash/hook_ledger.ts";
import { Trail } from "../crash/ledger.ts";
import { until } from "../cluster/wait.ts";
import { startMain } from "../support/processes.ts";
import { faultsOfStore } from "../support/whole_store.ts";
import type { CommandRecord } from "./commands.ts";
import type { Place } from "./place.ts";
import type { QuickReader } from "./readers.ts";

/** A command or a delivery ends within this, also after a crash. */
const LATE_MS = 90_000;
const AT_ONCE = 16;

/** A signed note of the audit log, and the key that signed it. */
export interface Checkpoint {
  readonly note: string;
  readonly public_key: string;
}

export async function checkpointOf(owner: Client): Promise<Checkpoint> {
  const path = "/api/audit/checkpoint";
  return expectStatus(await owner<Checkpoint>("GET", path), 200, path);
}

/** What is wrong with the end of commands: each ran at most once, and those that were answered did run. */
export async function faultsOfCommands(
  { owner, ledger, steady, victim, echoes }: Place,
  { expected, victims }: CommandRecord,
): Promise<string[]> {
  const faults: string[] = [];
  const statusOf = async (path: string) =>
    expectStatus(await owner<{ status: string }>("GET", path), 200, path).status;
  const endOf = async (path: string) => {
    let status = "";
    const ended = async () => !/^(queued|running)$/.test(status = await statusOf(path));
    await until(`${path} ends`, LATE_MS, ended);
    return status;
  };
  const ran = new Map(ledger.succeeded);
  const unsent: string[] = [];
  await inTurns(ledger.accepted, async ([id, mark]) => {
    const status = await endOf(`/api/v1/agents/${steady.id}/commands/${id}`);
    if (status === "succeeded") ran.set(id, mark);
    else if (status === "failed") unsent.push(mark);
    else if (status !== "lost") faults.push(`the command ${id} is ${status}`);
  });
  await inTurns(expected, async ({ path, statuses }) => {
    const status = await endOf(path);
    if (!statuses.test(status)) faults.push(`${path} is ${status}, not ${statuses}`);
  });
  const counted = (what: string, file: string, marks: Iterable<string>) => {
    const lines = Deno.readTextFileSync(file).trimEnd().split("\n");
    const found = new Set(lines);
    if (found.size !== lines.length) faults.push(`${what}: a command ran twice`);
    for (const mark of marks) if (!found.has(mark)) faults.push(`${what}: ${mark} did not run`);
    return found;
  };
  const marks = counted("the steady agent", steady.counter, ran.values());
  for (const mark of unsent) if (marks.has(mark)) faults.push(`${mark} ran and is failed`);
  counted("the victim", victim.counter, victims);
  const texts = new Set<string>();
  for (const [run, times] of echoes.runs) {
    if (times > 1) faults.push(`${run} ran ${times} times`);
    texts.add(run.slice(run.indexOf(" ") + 1));
  }
  for (const { never } of expected) {
    if (never !== undefined && texts.has(never)) faults.push(`${never} ran without an approval`);
  }
  return faults;
}

/**
 * What is wrong with the audit log: rows that are missing or there twice, events that a stream missed or repeated,
 * and whatever `relay audit verify` finds in it, given checkpoints of earlier.
 */
export async function faultsOfAudit(
  { relay, ownerKey, ledger }: Place,
  folder: string,
  readers: readonly QuickReader[],
  checkpoints: readonly Checkpoint[],
): Promise<string[]> {
  const file = `${folder}/audit.ndjson`;
  const response = await fetch(`${relay.url}/api/audit/export`, {
    headers: { authorization: `Bearer ${ownerKey}`, accept: "application/x-ndjson" },
  });
  if (response.status !== 200) return [`the export was answered with ${response.status}`];
  await Deno.writeFile(file, response.body!);
  const trail = new Trail();
  const streamed: number[] = [];
  for await (const line of linesOf(file)) {
    if (line.startsWith('{"proof"')) continue;
    const { seq, event_type } = trail.take(line);
    if (isWebhookEvent(event_type)) streamed.push(seq);
  }
  const faults = [...trail.faults, ...trail.missing(ledger)];
  for (const { carrier, from, seen } of readers) {
    const due = streamed.filter((seq) => seq > from && seq <= seen.at(-1)!);
    const at = due.findIndex((seq, n) => seen[n] !== seq);
    if (at !== -1) faults.push(`the stream over ${carrier} had ${seen[at]} instead of ${due[at]}`);
    if (seen.length > due.length) faults.push(`the stream over ${carrier} repeated events`);
  }
  for (const [n, { note, public_key }] of checkpoints.entries()) {
    const witnessed = `${folder}/checkpoint-${n}.txt`;
    await Deno.writeTextFile(witnessed, note);
    const verify = startMain([
      "audit",
      "verify",
      file,
      "--key",
      public_key,
      "--checkpoint",
      witnessed,
    ]);
    const { code } = await verify.ended;
    if (code !== 0) faults.push(`relay audit verify: ${verify.lines.join(" ")}`);
  }
  return faults;
}

/** Resolves when the good receiver has got every event, or with what is missing. */
export async function faultsOfWebhooks(
  { receivers }: Place,
  { denied }: CommandRecord,
): Promise<string[]> {
  return await receivers.untilGood(denied, LATE_MS, () => {}).then(
    () => [],
    ({ message }) => [message],
  );
}

/** What is wrong in the store of a relay that has ended, and its deliveries by state. */
export async function faultsAtRest(
  { organization, receivers, hooks, relay }: Place,
  { denied }: CommandRecord,
): Promise<{ readonly faults: string[]; readonly deliveries: Readonly<Record<string, number>> }> {
  const organizations = [{ id: organization, acknowledged: denied, webhooks: hooks }];
  const opened = await openStore(relay.store, systemClock);
  const found = await examineDeliveries(opened.store, organizations, receivers)
    .finally(() => opened.close());
  const { faults, states, repeats, lost } = found;
  if (repeats > lost) faults.push(`${repeats} deliveries repeated, ${lost} attempts were cut off`);
  using kv = await Deno.openKv(relay.store);
  return {
    faults: [...faults, ...await faultsOfStore(kv)],
    deliveries: { ...states, repeated: repeats, "cut off": lost },
  };
}

async function* linesOf(file: string): AsyncGenerator<string> {
  using opened = await Deno.open(file);
  let rest = "";
  for await (const text of opened.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

async function inTurns<T>(items: Iterable<T>, act: (item: T) => Promise<void>): Promise<void> {
  const all = [...items].values();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (const item of all) await act(item);
  }));
}
