import { canaryRuns } from "../../../kv/records/agent_state.ts";
import type { Stepping } from "../../work/work.ts";
import type { CommandParts } from "../commands/parts.ts";
import { startCommand } from "../commands/run.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import {
  examineCommand,
  inspectCommand,
  judgeChain,
  type Policy,
  type ShieldContext,
  type ShieldLayer,
  type ShieldResult,
  switchesRules,
  type Verdict,
} from "../../shield/shield.ts";
import { CANARY_CHECKS, type CanaryCheck, canaryPolicy } from "./canary_checks.ts";
import { SessionMemory } from "./session_memory.ts";
import { policiesFor, shieldInForce } from "./in_force.ts";

const NO_OP = "true";
const NO_OP_TIMEOUT_MS = 10_000;

/** The layers, as the canary calls them; tests replace them with broken ones. */
export interface Layers {
  inspect(command: string, context: ShieldContext): Pick<ShieldResult, "verdict" | "layer">;
  /** Judges the last of these commands after the others. */
  chain(commands: readonly string[]): Pick<ShieldResult, "verdict" | "layer">;
}

/** A failed check. */
export interface CanaryFailure {
  readonly command: string;
  readonly expected: Verdict | "stopped";
  readonly verdict: Verdict;
}

/** The outcome of one layer's checks. */
export interface CanaryLayer {
  readonly layer: ShieldLayer;
  readonly passed: boolean;
  readonly checks: number;
  readonly failures: CanaryFailure[];
  /** Commands that are not stopped, because the rules that would stop them are disabled or only watch. */
  readonly switched_off: string[];
}

/** Runs every check through its layer; nothing is executed or stored. */
export function checkLayers(
  context: ShieldContext,
  { inspect, chain }: Layers = { inspect: inspectCommand, chain: judgeLast },
): CanaryLayer[] {
  const policy = context.policy ?? null;
  return (["policy", "patterns", "structure", "behaviour"] as const).map((layer) => {
    const switchedOff: string[] = [];
    const checks = CANARY_CHECKS.filter((check) => check.layer === layer);
    const failures = checks.flatMap(({ commands, expect }) => {
      const command = commands.at(-1) ?? "";
      const found = layer === "behaviour"
        ? chain(commands)
        : inspect(command, layer === "policy" ? { ...context, policy: canaryPolicy() } : context);
      const { verdict } = found;
      if (isAsExpected({ layer, expect }, found)) return [];
      const wanted = isOfPatterns(layer) && switchesRules(policy) &&
        isAsExpected(
          { layer, expect },
          inspect(command, { ...context, policy: withAllPatterns(policy) }),
        );
      if (!wanted) return [{ command, expected: expect, verdict }];
      switchedOff.push(command);
      return [];
    });
    const passed = failures.length === 0;
    return { layer, passed, checks: checks.length, failures, switched_off: switchedOff };
  });
}

/** True when the checked layer gave the verdict; otherwise another layer could hide its failure. */
function isAsExpected(
  { layer, expect }: Pick<CanaryCheck, "layer" | "expect">,
  found: Pick<ShieldResult, "verdict" | "layer">,
): boolean {
  // A policy in force may decide before the patterns and the structure.
  const byPolicy = found.layer === "policy" && isOfPatterns(layer);
  if (expect === "allow") return found.verdict === "allow" || byPolicy;
  const right = expect === "stopped" ? found.verdict !== "allow" : found.verdict === expect;
  return right && (layer === found.layer || byPolicy);
}

/** True for the layers of the rule packs, which an organization can switch; chains are checked without its switches. */
const isOfPatterns = (layer: ShieldLayer) => layer === "patterns" || layer === "structure";

/** The same policy with every built-in rule. */
const withAllPatterns = ({ rules, thresholds, tests }: Policy): Policy => ({
  rules,
  thresholds,
  tests,
});

function judgeLast(commands: readonly string[]): ShieldResult {
  const session = new SessionMemory();
  const circumstances = { labels: {}, who: null, atMs: null };
  let result = inspectCommand("");
  for (const [i, command] of commands.entries()) {
    const memory = session.recall(0);
    const judged = judgeChain(command, examineCommand(command), memory, null, circumstances);
    session.note(`step_${i}`, judged.examination, judged.steps, 0);
    session.succeeded(`step_${i}`);
    result = judged.decision.result;
  }
  return result;
}

/**
 * Runs the checks and, if an agent is named, a command on it that does nothing.
 * @throws {Fault} CANARY_FAILED with the whole report when any check fails; AGENT_NOT_FOUND
 */
export async function runCanary(work: Stepping, parts: CommandParts, agentId: string | null) {
  const { actor, ports, store } = work;
  const { tenant } = actor;
  const shield = await shieldInForce(work.db, tenant);
  const { policy } = await policiesFor(parts.policyCache, tenant, shield, {});
  const layers = checkLayers({ policy });
  const agent = agentId === null ? null : await tryAgent(work, parts, agentId);
  const failed = [
    ...layers.filter(({ passed }) => !passed).map(({ layer }) => layer as string),
    ...(agent === null || agent.passed ? [] : ["agent"]),
  ];
  const status = failed.length === 0 ? "passed" as const : "failed" as const;
  await store.transact((tx) => {
    emit(work, tx, tenant, {
      type: "canary_run",
      resource: { type: "shield", id: "shield" },
      ...(agentId !== null && { agentId }),
      details: { command_id: agent?.command_id ?? null, failed, status },
    });
    for (const id of ["shield", ...(agentId === null ? [] : [agentId])]) {
      const at_ms = ports.clock.now();
      tx.put(canaryRuns, tenant, { id, at_ms, by: actor.id, status, failed });
    }
    work.recordUse(tx, failed.length === 0 ? 200 : 503);
  });
  const report = { status, failed, mode: shield.own.mode, layers, agent };
  if (failed.length === 0) return report;
  const message =
    `The canary failed: ${failed.join(", ")}. Do not rely on the shield until the canary ` +
    "passes.";
  throw new Fault("CANARY_FAILED", message, { canary: report });
}

/** Runs the no-op like any command, and waits for its end. */
async function tryAgent(work: Stepping, parts: CommandParts, agentId: string) {
  const quiet: Stepping = {
    ...work,
    request: { ...work.request, idempotencyKey: null },
    recordUse: () => {},
  };
  const request = { agentId, command: NO_OP, timeoutMs: NO_OP_TIMEOUT_MS };
  try {
    const { record, done } = await startCommand(quiet, parts, request);
    const { id, status, exit_code, reason } = done === null ? record : await done;
    const passed = status === "succeeded" && exit_code === 0;
    return { agent_id: agentId, passed, command_id: id, status, reason };
  } catch (error) {
    if (!(error instanceof Fault) || error.code === "AGENT_NOT_FOUND") throw error;
    const { command_id } = error.details;
    return {
      agent_id: agentId,
      passed: false,
      command_id: typeof command_id === "string" ? command_id : null,
      status: error.code,
      reason: error.message,
    };
  }
}
