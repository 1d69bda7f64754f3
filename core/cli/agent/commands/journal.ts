import type { AgentFiles, Appender } from "../interfaces.ts";

/** How many command ids are remembered; the relay never repeats one, so this is the second belt. */
const REMEMBERED_IDS = 10_000;
/** How many lines the file may have before it is rewritten with the remembered ones. */
const MAX_LINES = 2 * REMEMBERED_IDS;

/** The ids of the commands that this agent has started, kept across restarts. */
export interface Journal {
  has(commandId: string): boolean;
  /** Writes the id down; only then may the command start. Throws when the disk refuses. */
  add(commandId: string): void;
  close(): void;
}

/** Opens the journal in the state directory; a line that a kill or a full disk has torn does no harm. */
export function openJournal(stateDir: string, files: AgentFiles): Journal {
  const path = `${stateDir}/started.log`;
  const text = files.read(path) ?? "";
  const lines = text.split("\n").filter((line) => line !== "");
  const ids = new Set(lines.slice(-REMEMBERED_IDS));
  let written = lines.length;
  /** False when the last line may be a part of one: what is written behind it would not be read again. */
  let whole = text === "" || text.endsWith("\n");
  let appender: Appender | undefined;

  function rewrite() {
    appender?.close();
    appender = undefined;
    files.write(path, [...ids, ""].join("\n"));
    written = ids.size;
    whole = true;
  }

  return {
    has: (commandId) => ids.has(commandId),
    add(commandId) {
      if (written >= MAX_LINES || !whole) rewrite();
      appender ??= files.openAppender(path);
      whole = false;
      appender.append(`${commandId}\n`);
      whole = true;
      written++;
      ids.add(commandId);
      if (ids.size > REMEMBERED_IDS) {
        for (const oldest of ids) {
          ids.delete(oldest);
          break;
        }
      }
    },
    close() {
      appender?.close();
      appender = undefined;
    },
  };
}
