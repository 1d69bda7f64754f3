import type { AgentFiles, Appender } from "../interfaces.ts";

/** Command ids that are remembered, as a second safeguard: the relay never repeats one. */
const REMEMBERED_IDS = 10_000;
/** Maximum number of lines; beyond it the file is rewritten with the remembered ids. */
const MAX_LINES = 2 * REMEMBERED_IDS;

/** The ids of the commands that this agent started, across restarts. */
export interface Journal {
  has(commandId: string): boolean;
  /** Records an id before its command starts. Throws when it cannot be written. */
  add(commandId: string): void;
  close(): void;
}

/** Opens the journal in the state directory. A partial line after a kill or on a full disk does no harm. */
export function openJournal(stateDir: string, files: AgentFiles): Journal {
  const path = `${stateDir}/started.log`;
  const text = files.read(path) ?? "";
  const lines = text.split("\n").filter((line) => line !== "");
  const ids = new Set(lines.slice(-REMEMBERED_IDS));
  let written = lines.length;
  /** False when the last line may be partial: text appended to it would be lost. */
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
