import type { CommandStatus } from "../../../../../core/client/client.ts";

/** The states of a command, in their order. */
export const COMMAND_STATES: readonly CommandStatus[] = [
  "pending_approval",
  "queued",
  "running",
  "succeeded",
  "failed",
  "denied",
  "rejected",
  "expired",
  "cancelled",
  "timed_out",
  "lost",
];
