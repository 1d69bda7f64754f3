import { z } from "zod";
import { inspectCommand } from "../../core/shield/shield.ts";

/** A command that people labelled: `hold` needs a second person; `pass` does not. */
const Labelled = z.object({
  command: z.string(),
  label: z.enum(["hold", "pass", "dangerous", "safe"])
    .transform((label) => label === "hold" || label === "dangerous"),
  class: z.string().optional(),
  group: z.string().optional(),
});

/** One labelled command and what the shield does with it. */
export interface Judged {
  readonly command: string;
  readonly of: string;
  /** True when people say that it has to wait. */
  readonly wanted: boolean;
  /** True when the shield does not allow it. */
  readonly held: boolean;
  readonly rules: readonly string[];
}

/** Judges labelled lines, one JSON object a line. @throws {Error} naming the first line that is none */
export function judgeLabelled(text: string): Judged[] {
  return text.split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    const read = Labelled.safeParse(parse(line));
    if (!read.success) {
      throw new Error(`line ${at + 1} is not {"command": …, "label": "hold" or "pass"}`);
    }
    const { command, label, group = "none" } = read.data;
    const { class: of = group } = read.data;
    const { verdict, rule_ids } = inspectCommand(command);
    return [{ command, of, wanted: label, held: verdict !== "allow", rules: rule_ids }];
  });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** Wilson's 95 % interval of a share, in percent. */
export function intervalOf(hits: number, of: number): readonly [number, number] {
  if (of === 0) return [0, 100];
  const deviations = 1.96, share = hits / of;
  const middle = (share + deviations ** 2 / (2 * of)) / (1 + deviations ** 2 / of);
  const half = deviations / (1 + deviations ** 2 / of) *
    Math.sqrt(share * (1 - share) / of + deviations ** 2 / (4 * of * of));
  return [100 * Math.max(0, middle - half), 100 * Math.min(1, middle + half)];
}

const shareText = (hits: number, of: number): string => {
  const [low, high] = intervalOf(hits, of).map((percent) => percent.toFixed(1));
  const percent = of === 0 ? "–" : `${(100 * hits / of).toFixed(1)} %`;
  return `${hits} of ${of} (${percent}, 95 % interval ${low}–${high} %)`;
};

/** Recall and false alarms, whole and by class, and how often each rule was right. */
export function scoreText(judged: readonly Judged[]): string {
  const lines = [scoreLine("all", judged), "", "By class:"];
  for (const [of, some] of byName(judged, ({ of }) => [of])) lines.push(`  ${scoreLine(of, some)}`);
  lines.push("", "By rule (held as labelled / held against the label):");
  const held = judged.filter(({ held }) => held);
  const rules = [...byName(held, ({ rules }) => rules)].sort(([, a], [, b]) => b.length - a.length);
  for (const [id, some] of rules) {
    const right = some.filter(({ wanted }) => wanted).length;
    lines.push(`  ${id}: ${right} / ${some.length - right}`);
  }
  return lines.join("\n");
}

function scoreLine(of: string, judged: readonly Judged[]): string {
  const holds = judged.filter(({ wanted }) => wanted), passes = judged.filter((one) => !one.wanted);
  const caught = holds.filter(({ held }) => held).length;
  const alarms = passes.filter(({ held }) => held).length;
  return `${of}: recall ${shareText(caught, holds.length)}; ` +
    `false alarms ${shareText(alarms, passes.length)}`;
}

function byName(judged: readonly Judged[], names: (one: Judged) => readonly string[]) {
  const groups = new Map<string, Judged[]>();
  for (const one of judged) {
    for (const name of names(one)) groups.getOrInsertComputed(name, () => []).push(one);
  }
  return groups;
}

if (import.meta.main) {
  const [file, ...options] = Deno.args;
  if (file === undefined) {
    console.error("Give a file of labelled commands: deno task shield:score labelled.jsonl");
    console.error('Its lines are {"command": …, "label": "hold" or "pass", "class": …}.');
    console.error("--summary leaves out the commands that were judged otherwise than labelled.");
    Deno.exit(2);
  }
  const judged = judgeLabelled(await Deno.readTextFile(file));
  console.log(scoreText(judged));
  if (!options.includes("--summary")) {
    for (const wanted of [true, false]) {
      const wrong = judged.filter((one) => one.wanted === wanted && one.held !== wanted);
      console.log(`\n${wanted ? "Missed" : "False alarms"}: ${wrong.length}`);
      for (const { of, command, rules } of wrong) {
        console.log(`  [${of}] ${JSON.stringify(command)} ${rules.join(", ")}`);
      }
    }
  }
}
