import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Context } from "../../context/context.ts";
import type { ShieldResult } from "../../shield/shield.ts";
import { answering } from "./thread.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";

/** The fields of a command at its beginning. */
export interface Beginning {
  readonly id: string;
  readonly agentId: string;
  readonly command: string;
  readonly timeoutMs: number;
  /** The alert that it answers. */
  readonly alertId: string | undefined;
  readonly actor: string;
  readonly requestId: string;
  readonly policyVersion: string;
  readonly createdAtMs: number;
  readonly shield: ShieldResult;
  /** Days that a policy allows it to be kept, if fewer than the configuration; null without such a policy. */
  readonly retentionDays: number | null;
  readonly idempotency: CommandRecord["idempotency"];
}

/** The record of a command that begins to run. */
export function beginRecord(
  { config }: Pick<Context, "config">,
  beginning: Beginning,
): CommandRecord {
  const { createdAtMs, retentionDays } = beginning;
  const days = config().retention_days.commands;
  return {
    id: beginning.id,
    agent_id: beginning.agentId,
    command: beginning.command,
    timeout_ms: beginning.timeoutMs,
    status: "running",
    actor: beginning.actor,
    request_id: beginning.requestId,
    policy_version: beginning.policyVersion,
    idempotency: beginning.idempotency,
    shield_result: beginning.shield,
    approval_id: null,
    ...answering(beginning.alertId),
    start_before_ms: null,
    exit_code: null,
    signal: null,
    stdout: "",
    stderr: "",
    output: null,
    truncated: false,
    reason: null,
    duration_ms: null,
    created_at_ms: createdAtMs,
    started_at_ms: createdAtMs,
    finished_at_ms: null,
    expires_at_ms: createdAtMs + Math.min(days, retentionDays ?? days) * DAY_MS,
  };
}
