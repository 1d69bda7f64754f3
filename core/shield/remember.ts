import { RecentMap } from "../../kv/recent.ts";
import { inspectCommand } from "./inspect.ts";
import type { ShieldResult } from "./result.ts";

/** Programs send the same short commands again and again, and a verdict depends on nothing else. */
const REMEMBERED_MAX = 4_096;
const COMMAND_CHARS_MAX = 1_024;

type Labels = Readonly<Record<string, string>>;
const verdicts = new RecentMap<ShieldResult>(REMEMBERED_MAX);
const texts = new WeakMap<Labels, string>();

/** The verdict on a command for an agent with these labels. */
export function inspectForAgent(command: string, labels: Labels): ShieldResult {
  if (command.length > COMMAND_CHARS_MAX) return inspectCommand(command, { labels });
  const key = `${textOf(labels)}\n${command}`;
  const remembered = verdicts.get(key);
  if (remembered !== undefined) return remembered;
  const verdict = inspectCommand(command, { labels });
  verdicts.set(key, verdict);
  return verdict;
}

function textOf(labels: Labels): string {
  let text = texts.get(labels);
  if (text === undefined) texts.set(labels, text = JSON.stringify(labels));
  return text;
}
