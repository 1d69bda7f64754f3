import { inspectCommand, type ShieldResult, type Verdict } from "../../../shield/shield.ts";
import { printableLine } from "../../printable_line.ts";
import { UsageError } from "../../arguments.ts";
import type { Run } from "../command.ts";
import { labelsFrom } from "../labels.ts";
import { commandsOf } from "./history.ts";

/** The largest history file. */
const BYTES_MAX = 64 * 1024 * 1024;
const SHOWN = 50;
const CHARS_SHOWN = 200;

/** A command that the shield would not allow, and how often the history has it. */
interface Held {
  readonly command: string;
  times: number;
  readonly verdict: Verdict;
  readonly rule_ids: readonly string[];
}

/** `relay shield replay` */
export const replayHistory: Run = async ({ args: [file = ""], number, list, out }) => {
  const commands = commandsOf(await readHistory(file));
  const answer = judgeAll(commands, labelsFrom(list("label")));
  const { counts, held, rules } = answer;
  const shown = held.slice(0, number("limit") ?? SHOWN);
  await out.list(
    { ...answer, held: shown },
    ["RULE", "VERDICT", "TIMES", "COMMAND"],
    shown.map(({ command, times, verdict, rule_ids }) =>
      [rule_ids[0] ?? "", verdict, times, shortened(printableLine(command))] as const
    ),
  );
  const most = rules.slice(0, 5).map(({ id, commands }) => `${id} ${commands}`).join(", ");
  await out.note(
    `${commands.length} commands: ${counts.allow} allowed, ${counts.approve} would wait for a ` +
      `person, ${counts.deny} denied.${most && ` Most by rule: ${most}.`}`,
  );
};

/**
 * The text of a file or a pipe.
 * @throws {UsageError} if it is missing, a folder or too large
 */
async function readHistory(path: string): Promise<string> {
  try {
    using file = await Deno.open(path);
    if ((await file.stat()).isDirectory) {
      throw new UsageError(`${path} is a folder. Give a file, such as ~/.bash_history.`);
    }
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    for await (const chunk of file.readable) {
      bytes += chunk.length;
      if (bytes > BYTES_MAX) {
        throw new UsageError(`The history has over ${BYTES_MAX} bytes. Split it.`);
      }
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(`There is no file ${path}. Give one, such as ~/.bash_history.`);
  }
}

const shortened = (text: string): string =>
  text.length > CHARS_SHOWN ? `${text.slice(0, CHARS_SHOWN)}…` : text;

function judgeAll(commands: readonly string[], labels: Readonly<Record<string, string>>) {
  const counts = { allow: 0, approve: 0, deny: 0 };
  const known = new Map<string, ShieldResult>();
  const held = new Map<string, Held>(), rules = new Map<string, number>();
  for (const command of commands) {
    const { verdict, rule_ids } = known.getOrInsertComputed(
      command,
      () => inspectCommand(command, { labels }),
    );
    counts[verdict]++;
    if (verdict === "allow") continue;
    held.getOrInsertComputed(command, () => ({ command, times: 0, verdict, rule_ids })).times++;
    for (const id of rule_ids) rules.set(id, (rules.get(id) ?? 0) + 1);
  }
  return {
    commands: commands.length,
    counts,
    rules: [...rules].map(([id, commands]) => ({ id, commands }))
      .sort((a, b) => b.commands - a.commands),
    held: [...held.values()].sort((a, b) => b.times - a.times),
  };
}
