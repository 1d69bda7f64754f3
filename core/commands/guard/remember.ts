import { RecentMap } from "../../../kv/store/recent.ts";
import { type Examination, examineCommand } from "../../shield/shield.ts";

/** Programs send the same short commands again and again; what they say depends on nothing else. */
const REMEMBERED_MAX = 4_096;
const COMMAND_CHARS_MAX = 1_024;
/** A short line may double a variable ten times over; what it grew to is not kept. */
const EXPANDED_CHARS_MAX = 8 * 1024;

const examinations = new RecentMap<Examination>(REMEMBERED_MAX);

/** What a command says; policy, labels and sessions are no part of it, so no change of theirs outdates it. */
export function examineAgain(command: string): Examination {
  if (command.length > COMMAND_CHARS_MAX) return examineCommand(command);
  const remembered = examinations.get(command);
  if (remembered !== undefined) return remembered;
  const examination = examineCommand(command);
  if (examination.expandedChars <= EXPANDED_CHARS_MAX) examinations.set(command, examination);
  return examination;
}
