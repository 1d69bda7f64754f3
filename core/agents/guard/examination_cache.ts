import { RecentMap } from "../../../kv/store/recent.ts";
import { type Examination, examineCommand } from "../../shield/shield.ts";

/** Programs send the same short commands repeatedly. */
const REMEMBERED_MAX = 4_096;
const COMMAND_CHARS_MAX = 1_024;
/** A short line may expand to a long one, which is not kept. */
const EXPANDED_CHARS_MAX = 8 * 1024;

const examinations = new RecentMap<Examination>(REMEMBERED_MAX);

/** The examination of a command. It depends on its text only, so no change of policies, labels or sessions outdates it. */
export function cachedExamination(command: string): Examination {
  if (command.length > COMMAND_CHARS_MAX) return examineCommand(command);
  const remembered = examinations.get(command);
  if (remembered !== undefined) return remembered;
  const examination = examineCommand(command);
  if (examination.expandedChars <= EXPANDED_CHARS_MAX) examinations.set(command, examination);
  return examination;
}
