/**
 * Agents, the commands that they run, and what protects those commands: the shield's settings and judgement, approvals,
 * and the alerts and reports that come from outside.
 *
 * An agent registers at its first contact under its own key, and stays with the API key or device that it came with.
 * Its link proves who it is, carries commands to it under signed verdicts and signed results back, and closes within a
 * second when its credential ends. A command is recorded before it is sent, runs at most once, and ends in one commit
 * with its event. A command that needs approval waits, bound to its exact text, its agent and the shield's version.
 *
 * Several instances: records and journal are in the store. An agent has one link, and the instance that holds it keeps
 * it and the commands that run over it in memory; the agent's record names that instance. One that gets an agent's newer
 * link tells the earlier one to close its own; one that finds another dead disconnects its agents, and learns from the
 * journal which commands were lost. The callers here that wait for an agent's state (`Inquiries`) or for a command
 * elsewhere are in memory too; output elsewhere comes as a copy through the store. A fleet command is driven by the
 * instance that its row names, and by another one after that one's death; its totals are counted from the rows of its
 * commands. Sessions of the shield's behaviour layer are in memory only for a sole process. Remembered examinations
 * depend on a command's text alone. Each instance counts its own limits per minute.
 */

export { denialAlertId } from "./alerts/denied.ts";
export { ingestAlerts } from "./alerts/import.ts";
export { acknowledgeAlert, getAlert, listAlerts, resolveAlert } from "./alerts/manage.ts";
export { REPORTS_MAX } from "./alerts/report.ts";
export { WAITING } from "./approvals/count.ts";
export { decideApproval } from "./approvals/decide.ts";
export { lapseForAgent, lapseOutdated, lapseOverdue } from "./approvals/lapse.ts";
export { getApproval } from "./approvals/may_decide.ts";
export { approvalPage } from "./approvals/page.ts";
export { listApprovals, statusNow } from "./approvals/show.ts";
export { suggestRules } from "./approvals/suggest.ts";
export { CAPABILITIES } from "./capabilities.ts";
export { abandonCommand, cancelCommand } from "./commands/cancel.ts";
export { Elsewhere } from "./commands/elsewhere.ts";
export { COMMAND_KEYS, FLEET_KEYS } from "./commands/keys.ts";
export { type CommandFilter, listAgentCommands, listCommands } from "./commands/list.ts";
export { LiveOutput } from "./commands/live_output.ts";
export type { OutputSink } from "./commands/output_stream.ts";
export { startHandedOver, startQueued, sweepQueued } from "./commands/queue.ts";
export { openOutput, readOutput } from "./commands/read_output.ts";
export { recoverCommands } from "./commands/recover.ts";
export { runCommand, startCommand } from "./commands/run.ts";
export { RunningCommands } from "./commands/running_commands.ts";
export { getCommand, getOwnCommand, ownedCommand, showCommand } from "./commands/show.ts";
export { agentsByStatus } from "./count.ts";
export { authenticateSocket } from "./devices/holder.ts";
export {
  deleteDevice,
  deletePairingCode,
  deviceTrust,
  listDevices,
  listPairingCodes,
  MADE_DEVICES,
  MADE_PAIRING_CODES,
} from "./devices/manage.ts";
export { confirmDevice, createPairingCode, pairDevice } from "./devices/pair.ts";
export { cancelFleetCommand } from "./fleet/cancel.ts";
export { FleetCommands } from "./fleet/fleet_commands.ts";
export { AGENTS_MAX } from "./fleet/select.ts";
export { getFleetCommand, showFleetCommand } from "./fleet/show.ts";
export { startFleetCommand } from "./fleet/start.ts";
export { runCanary } from "./guard/canary.ts";
export {
  evaluateCommands,
  type PolicyFor,
  replayCandidate,
  replayCommands,
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
export type { Connection } from "./links/connection.ts";
export { reportHeartbeat } from "./links/heartbeat.ts";
export { Inquiries } from "./links/inquiries.ts";
export type { AgentPolicies, CommandListener, Link, LinkListeners, Receipt } from "./links/link.ts";
export { AGENT_RIGHT, Links } from "./links/links.ts";
export { notifyLostAgents } from "./links/lost_agents.ts";
export { disconnectAgentsOf, heldVersion, sweepStaleAgents } from "./links/register.ts";
export type { Wire } from "./links/sender.ts";
export {
  closeFormerKeyLinks,
  insertVerdictKeys,
  pinsThatFollow,
  rotateVerdictKey,
} from "./links/verdict_keys.ts";
export { deleteAgent, listAgents, offline, ownedAgent, restartAgent, showAgent } from "./manage.ts";
export { agentIdOf, agentIdOfFilter } from "./names.ts";
export { updateAgent } from "./update.ts";
