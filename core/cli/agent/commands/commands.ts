import {
  type CommandOrder,
  MAX_CONCURRENT_COMMANDS,
  type RefusedFrame,
} from "../../../protocol/protocol.ts";
import { failedToStart, type RunningCommand, startCommand } from "./command.ts";
import type { Journal } from "./journal.ts";
import type { Outbox } from "../outbox.ts";
import type { AgentHost } from "../interfaces.ts";

/** The commands of one agent: at most 64 at once, each at most once. */
export interface Commands {
  /** Starts a command under the verdict that allows it, or sends why not. */
  run(order: CommandOrder, verdict: string): void;
  /** Kills a running command; does nothing for another id. */
  cancel(commandId: string): void;
  /** Accepts no more commands, gives the running ones `graceMs` to end, then kills them. */
  stop(graceMs: number): Promise<void>;
  running(): string[];
  /** The health in heartbeats: `degraded` when out of slots, `error` when the journal cannot be written. */
  health(): "ok" | "degraded" | "error";
}

/** Opens the commands of an agent. */
export function openCommands(host: AgentHost, journal: Journal, outbox: Outbox): Commands {
  const running = new Map<string, RunningCommand>();
  // Includes commands with a result whose process group has not ended yet.
  const present = new Set<Promise<void>>();
  let stopping = false;
  let journalBroken = false;

  function refuse(command_id: string, reason: RefusedFrame["reason"], message: string) {
    outbox.post({ type: "refused", command_id, reason, message });
  }

  function writeDown(command_id: string, verdict: string): boolean {
    try {
      journal.add(command_id);
      journalBroken = false;
    } catch (error) {
      journalBroken = true;
      host.log.error(`cannot write the journal, so no command starts: ${error}`);
      outbox.post(failedToStart(command_id, verdict, "the agent cannot write its journal"));
    }
    return !journalBroken;
  }

  return {
    run(order, verdict) {
      const id = order.command_id;
      if (journal.has(id)) return refuse(id, "duplicate", "this command was started before");
      if (stopping) return refuse(id, "stopping", "the agent is stopping");
      if (running.size >= MAX_CONCURRENT_COMMANDS) {
        return refuse(id, "busy", `${MAX_CONCURRENT_COMMANDS} commands are running`);
      }
      if (!writeDown(id, verdict)) return;
      const span = host.tracing?.resume(order.traceparent)?.child("run command", {
        "relay.command_id": id,
      });
      const command = startCommand(order, verdict, host, outbox);
      running.set(id, command);
      command.done.then(() => running.delete(id));
      span?.endWith(command.done);
      present.add(command.gone);
      command.gone.then(() => present.delete(command.gone));
    },
    cancel(commandId) {
      running.get(commandId)?.cancel();
    },
    async stop(graceMs) {
      stopping = true;
      const cancelGrace = host.clock.after(graceMs, () => {
        for (const command of running.values()) command.cancel();
      });
      await Promise.all(present);
      cancelGrace();
    },
    running: () => [...running.keys()],
    health() {
      if (journalBroken) return "error";
      return running.size >= MAX_CONCURRENT_COMMANDS ? "degraded" : "ok";
    },
  };
}
