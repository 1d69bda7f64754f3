import { hash } from "node:crypto";
import type { Clock, Log } from "../../../ports/ports.ts";
import type { CommandOrder } from "../../../protocol/protocol.ts";
import type { AgentFiles } from "../interfaces.ts";

/** Maximum number of lines; beyond it the older half is dropped. */
const MAX_LINES = 2_000;

/** A record of commands that came without a valid verdict, for an investigation. */
export interface Refusals {
  /** Writes to the log, and to `refused.log` if the disk allows. */
  add(orders: readonly CommandOrder[], reason: string): void;
}

/** Opens the list of refusals in the state directory: one JSON object a line. */
export function openRefusals(
  stateDir: string,
  { files, clock, log }: { files: AgentFiles; clock: Clock; log: Log },
): Refusals {
  const path = `${stateDir}/refused.log`;

  function append(fresh: readonly string[]) {
    const lines = (files.read(path) ?? "").split("\n").filter((text) => text !== "");
    const kept = lines.length < MAX_LINES ? lines : lines.slice(-MAX_LINES / 2);
    files.write(path, [...kept, ...fresh, ""].join("\n"));
  }

  return {
    add(orders, reason) {
      log.error(`refused ${orders.map(({ command_id }) => command_id).join(", ")}: ${reason}`);
      const at = new Date(clock.now()).toISOString();
      try {
        append(
          orders.map(({ command_id, command }) =>
            JSON.stringify({ at, command_id, command_sha256: hash("sha256", command), reason })
          ),
        );
      } catch (error) {
        log.error(`cannot write ${path}: ${error}`);
      }
    },
  };
}
