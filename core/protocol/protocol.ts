/**
 * The subprotocol `relay.agent.v1` between a relay and its agents: frames, close codes, the texts that both
 * sides sign, archives of an agent's configuration, and the signed checkpoints of the audit log that agents
 * witness. Relay and agent both use it, so it depends on neither; docs/agent-protocol.md describes it. Beside it are the
 * headers that the relay's MCP server and `relay mcp` share.
 */

export {
  type Archive,
  type ArchiveEntry,
  compress,
  decompress,
  filesDigest,
  packArchive,
  POLICY_ROOT,
  unpackArchive,
} from "./archive.ts";
export { atMost } from "./at_most.ts";
export { type Batch, jsonBytesMax, openBatch } from "./batch.ts";
export { type Handover, readChain, readHandover, signHandover } from "./checkpoints/handover.ts";
export {
  consistencyPath,
  GrowingTree,
  type Hash,
  inclusionPath,
  leafHash,
  leafHashes,
  rangeHash,
  type ReadNode,
  sameHash,
  subtreesOf,
  verifyConsistency,
} from "./checkpoints/merkle.ts";
export { leanLeafHash } from "./checkpoints/lean_hash.ts";
export { foldHashes, HASH_BYTES } from "./checkpoints/node_hash.ts";
export {
  cosigned,
  isSignedOnce,
  keyText,
  namesKey,
  type NoteKey,
  readKey,
  readStatement,
  signedTextOf,
  signNote,
  type Statement,
  statementText,
  verifiesNote,
} from "./checkpoints/note.ts";
export { CLOSE_CODES, closeByCode, type CloseName } from "./close_codes.ts";
export {
  AGENT_PROTOCOL,
  type AgentFacts,
  agentFacts,
  type AgentFrame,
  agentLabels,
  type CheckpointFrame,
  type CheckpointKeptFrame,
  type CheckpointRefusedFrame,
  type CommandOrder,
  type CommandResult,
  fitsBytes,
  HELLO_TIMEOUT_MS,
  type HelloFrame,
  labelKey,
  labelValue,
  MAX_AGENT_FRAME_BYTES,
  MAX_CONCURRENT_COMMANDS,
  MAX_HANDOVERS,
  MAX_HELLO_BYTES,
  MAX_NAMED_COMMANDS,
  MAX_OUTPUT_CHUNK_BYTES,
  MAX_POLICIES,
  MAX_RELAY_FRAME_BYTES,
  type OutputFrame,
  parseAgentFrame,
  parseRelayFrame,
  type PolicyFrame,
  rawKey,
  type RefusedFrame,
  type RelayFrame,
  type ResultsFrame,
  type RunFrame,
  type WelcomeFrame,
} from "./frames.ts";
export { MCP_NAME_MEMBERS } from "./mcp_headers.ts";
export {
  challengeText,
  claimedDigests,
  EMPTY_SHA256,
  handoverText,
  type LinkIdentity,
  NO_POLICY_VERSION,
  type OutputDigests,
  policyText,
  policyVersionOf,
  privateKeyOf,
  publicKeyOf,
  rawPublicKey,
  receiptText,
  signText,
  transferText,
  upgradeText,
  verdictText,
  verifiesText,
  welcomeText,
} from "./statements.ts";
export {
  type InspectFrame,
  MAX_BACKUP_ROOTS,
  MAX_CONFIGURATION_BYTES,
  MAX_CONFIGURATION_FILES,
  MAX_PATH_LENGTH,
  PIECE_BYTES,
  type RestorePlan,
  restorePlan,
  type StateFrame,
  type TransferData,
  type TransferFrame,
  type TransferKind,
  type TransferOrder,
  type TransferReply,
} from "./transfers.ts";
export {
  ANY_PLATFORM,
  type ProgramFacts,
  type ProgramForm,
  programForm,
  type UpgradeFrame,
} from "./upgrades.ts";
export { isOlder, VERSION } from "./version.ts";
