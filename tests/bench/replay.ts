import { figure } from "./figures.ts";
import process from "node:process";
import { emit } from "../../core/events/events.ts";
import { WEBHOOK_EVENTS } from "../../core/events/types/webhook_events.ts";
import { forbidding, withRepository } from "../policies/git_fixtures.ts";
import { DANGEROUS, HARMLESS } from "../shield/field.ts";
import { World } from "../support/world.ts";
import { sized } from "./size.ts";

const COMMANDS = sized(10_000, 200);
const ROUNDS = sized(5, 1);
const BATCH = 50;

/** The last 10,000 audited commands through a candidate policy, by `apply` with `dry_run`. */
export async function benchReplay(): Promise<void> {
  await using world = await World.open();
  const { owner, host, apply } = await withRepository(world);
  const rules = Array.from(
    { length: 20 },
    (_, n) =>
      `  - id: rule-${n}\n    match: { commands: [tool-${n}], paths: [/srv/${n}/**] }\n` +
      "    verdict: deny\n",
  ).join("");
  await host.commit({ "policies/a.yaml": `rules:\n${rules}` });
  await apply();
  await fill(world, owner);
  await host.commit({
    "policies/a.yaml": `rules:\n${rules}`,
    "policies/b.yaml": forbidding("git"),
  });
  const times = [];
  const used = [];
  let replay = { replayed: 0, changed: [] as unknown[] };
  for (let round = 0; round < ROUNDS; round++) {
    const before = performance.now();
    const usedBefore = process.cpuUsage();
    const { body } = await apply({ dry_run: true, replay: COMMANDS });
    times.push(performance.now() - before);
    const { user, system } = process.cpuUsage(usedBefore);
    used.push((user + system) / 1000);
    replay = body.replay;
  }
  figure(`apply with a replay of ${replay.replayed} commands`, Number(median(times)), "ms");
  console.log(
    `apply, replay of ${replay.replayed} commands, ${replay.changed.length} judged otherwise: ` +
      `first ${times[0]!.toFixed(0)} ms, median of ${ROUNDS} ${median(times)} ms ` +
      `(of the processor ${used[0]!.toFixed(0)} and ${median(used)} ms)`,
  );
}

const median = (all: readonly number[]) =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!.toFixed(0);

/** No two of the commands are the same, so that none is remembered. */
async function fill(world: World, { org, userId }: { org: string; userId: string }): Promise<void> {
  const work = { ...world.app, actor: { id: userId } };
  const lines = [...HARMLESS, ...DANGEROUS.slice(0, Math.floor(HARMLESS.length / 8))];
  for (let from = 0; from < COMMANDS; from += BATCH) {
    await world.app.store.transact((tx) => {
      for (let n = from; n < from + BATCH; n++) {
        emit(work, tx, { org, space: "live" }, {
          type: "command_executed",
          resource: { type: "command", id: `cmd_${n}` },
          agentId: "agt_1",
          details: {
            ...WEBHOOK_EVENTS.command_executed.example,
            command: `echo ${n}; ${lines[n % lines.length]}`,
            command_id: `cmd_${n}`,
          },
        });
      }
    });
  }
}
