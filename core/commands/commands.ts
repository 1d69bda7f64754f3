/**
 * Commands from the request to the recorded end, the shield's settings and judgement, approvals, and the alerts and
 * reports that come from outside. A command is recorded before it is sent, runs at most once, and ends in one commit
 * with its event. A command that needs approval waits, bound to its exact text, its agent and the shield's version.
 *
 * Several instances: records and journal are in the store. In memory are the commands that run over this process's
 * links, which only it can settle, and the callers here that wait for commands elsewhere or read their output, of
 * which a copy comes through the store. From the journal, the instance that takes over learns which commands were
 * lost. A fleet command is driven by the instance that its row names, and by another one after that one's death; its
 * totals are counted from the rows of its commands. Sessions of the shield's behaviour layer are in memory only for a sole process. Remembered examinations depend
 * on a command's text alone.
 */

export { denialAlertId } from "./alerts/denied.ts";
export { ingestAlerts } from "./alerts/import.ts";
export { acknowledgeAlert, listAlerts, resolveAlert } from "./alerts/manage.ts";
export { REPORTS_MAX } from "./alerts/report.ts";
export { WAITING } from "./approvals/count.ts";
export { decideApproval } from "./approvals/decide.ts";
export { lapseForAgent, lapseOutdated, lapseOverdue } from "./approvals/lapse.ts";
export { getApproval, listApprovals, statusNow } from "./approvals/show.ts";
export { abandonCommand, cancelCommand } from "./cancel.ts";
export { runCanary } from "./guard/canary.ts";
export { cancelFleetCommand } from "./fleet/cancel.ts";
export { FleetCommands } from "./fleet/fleet_commands.ts";
export { AGENTS_MAX } from "./fleet/select.ts";
export { getFleetCommand, showFleetCommand } from "./fleet/show.ts";
export { startFleetCommand } from "./fleet/start.ts";
export { LiveOutput } from "./live_output.ts";
export { Elsewhere } from "./elsewhere.ts";
export {
  evaluateCommands,
  type PolicyFor,
  replayCommands,
  replayPolicy,
} from "./guard/evaluate.ts";
export {
  inForce,
  insertShield,
  type MergedPolicy,
  modeFor,
  policiesFor,
  type PoliciesInForce,
  policyAndPatterns,
  type ShieldInForce,
  shieldInForce,
} from "./guard/in_force.ts";
export { listPatterns, switchPatterns } from "./guard/patterns.ts";
export { type Sessions, SoleSessions, StoredSessions } from "./guard/sessions.ts";
export { decideSelfApproval, getShieldSettings, updateShieldSettings } from "./guard/settings.ts";
export { receiveAlertmanager } from "./ingest/alertmanager.ts";
export {
  botMakers,
  CODE_TTL_MS,
  deletedBotMakers,
  isTrustedBot,
  makersOf,
} from "./ingest/bot_makers.ts";
export { receiveGeneric } from "./ingest/generic.ts";
export { ACCEPTED, receive } from "./ingest/receive.ts";
export { INGEST_TOKEN } from "./ingest/standing.ts";
export {
  adoptIngestToken,
  createIngestToken,
  deleteIngestToken,
  findIngestToken,
  listIngestTokens,
  MADE_INGEST_TOKENS,
} from "./ingest/tokens.ts";
export { type CommandFilter, listAgentCommands, listCommands } from "./list.ts";
export { startHandedOver, startQueued, sweepQueued } from "./queue.ts";
export type { OutputSink } from "./output_stream.ts";
export { openOutput, readOutput } from "./read_output.ts";
export { recoverCommands } from "./recover.ts";
export { COMMAND_KEYS, FLEET_KEYS } from "./keys.ts";
export { runCommand, startCommand } from "./run.ts";
export { RunningCommands } from "./running_commands.ts";
export { getCommand, getOwnCommand, ownedCommand, showCommand } from "./show.ts";
