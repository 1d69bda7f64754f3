/**
 * Agents and their links. An agent registers at its first contact under its own key, and stays with the API key or
 * device that it came with. Its link proves who it is, carries commands to it under signed verdicts and signed
 * results back, and closes within a second when its credential ends. What comes over a link goes to the listeners
 * that the composition wires.
 *
 * Several instances: an agent has one link, and the instance that holds it keeps it in memory. The record names that
 * instance. An instance that gets an agent's newer link tells the earlier one to close its own, and the one that finds
 * another instance dead disconnects its agents. `Inquiries` holds the callers here that wait for an agent's state. Each
 * instance counts its own limits per minute.
 */

export type { Connection } from "./connection.ts";
export { agentsByStatus } from "./count.ts";
export { authenticateSocket } from "./devices/holder.ts";
export { deleteDevice, deviceTrust, listDevices, MADE_DEVICES } from "./devices/manage.ts";
export {
  confirmDevice,
  createPairingCode,
  MADE_PAIRING_CODES,
  pairDevice,
} from "./devices/pair.ts";
export { reportHeartbeat } from "./heartbeat.ts";
export { Inquiries } from "./inquiries.ts";
export type { AgentPolicies, CommandListener, Link, LinkListeners, Receipt } from "./link.ts";
export { AGENT_RIGHT, Links } from "./links.ts";
export { notifyLostAgents } from "./lost_agents.ts";
export { deleteAgent, listAgents, offline, ownedAgent, restartAgent, showAgent } from "./manage.ts";
export { disconnectAgentsOf, heldVersion, sweepStaleAgents } from "./register.ts";
export { agentIdOf, agentIdOfFilter } from "./names.ts";
export { updateAgent } from "./update.ts";
export type { Wire } from "./sender.ts";
export {
  closeFormerKeyLinks,
  insertVerdictKeys,
  pinsThatFollow,
  rotateVerdictKey,
} from "./verdict_keys.ts";
