import type { AgentFiles, Appender } from "./port.ts";

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

/** Opens the journal in the state directory; a torn last line of a killed agent does no harm. */
export function openJournal(stateDir: string, files: AgentFiles): Journal {
  const path = `${stateDir}/started.log`;
  const text = files.read(path) ?? "";
  const lines = text.split("\n").filter((line) => line !== "");
  const ids = new Set(lines.slice(-REMEMBERED_IDS));
  let written = lines.length;
  let appender: Appender | undefined;

  if (written > MAX_LINES || (text !== "" && !text.endsWith("\n"))) rewrite();

  function rewrite() {
    appender?.close();
    appender = undefined;
    files.write(path, [...ids, ""].join("\n"));
    written = ids.size;
  }

  return {
    has: (commandId) => ids.has(commandId),
    add(commandId) {
      if (written >= MAX_LINES) rewrite();
      appender ??= files.openAppender(path);
      appender.append(`${commandId}\n`);
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
