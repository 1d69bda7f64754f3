/**
 * Events: everything that happens is one event of one log, committed with the change that it reports. This area
 * declares the event types, appends events, makes the log provable (audit trail, Merkle tree, signed checkpoints,
 * exports) and streams it to clients.
 *
 * Several instances: the store has the log, the trees and the checkpoints, and any instance may append to a tree,
 * because each step commits with its position. In memory are only the open streams of this process, which read
 * from the log whatever another instance wrote, and caches that the store can rebuild. Started commands, which are not
 * in the log, are told by the instance that started them.
 */

export {
  type DetailsOf,
  emit,
  eventJson,
  type EventRow,
  type EventType,
  keyUseJson,
  type NewEvent,
  OPERATOR_ACTOR,
  RELAY_ACTOR,
  traceparentOf,
} from "./emit.ts";
export type { Reauthorization } from "./reauthorization.ts";
export { medianWait, ruleOfDenial, statisticsOf, waitStatistic } from "./statistics.ts";
export { reconnectDelayMs, STREAM_ENDS, type StreamEnd } from "./streams/ends.ts";
export { CHANGED } from "./streams/changes.ts";
export { COMMAND_STARTED, type Message, MESSAGE_ID, prepare } from "./streams/message.ts";
export { NOTIFICATION } from "./streams/notification.ts";
export { SEVERITIES } from "./streams/severity.ts";
export { EVENT_RIGHTS, mayRead } from "./streams/rights.ts";
export { BUFFER_BYTES_MAX, type OpenStream, type Sink, type Stream } from "./streams/stream.ts";
export { StreamNews } from "./streams/stream_news.ts";
export { Streams } from "./streams/streams.ts";
export type { StreamFilter } from "./streams/view.ts";
export {
  auditKeyOf,
  insertAuditKeys,
  originOf,
  rotateAuditKey,
  signerOf,
} from "./trail/audit_keys.ts";
export {
  type AuditTree,
  makeCheckpoint,
  newestCheckpoint,
  proveConsistency,
  proveEvent,
  readCheckpoint,
} from "./trail/checkpoints.ts";
export { exportAudit, provenRows, READERS, whileReadable } from "./trail/export.ts";
export { EXPORTS } from "./trail/export_formats.ts";
export type { Finding } from "./trail/findings.ts";
export { auditLagMs } from "./trail/lag.ts";
export { recordRead, registerAuditEvent } from "./trail/record.ts";
export { resultOf } from "./trail/result.ts";
export { type Result, RESULTS } from "./types/event.ts";
export { mustResumeFrom } from "./trail/resume.ts";
export { dropExpiredRows } from "./trail/retention.ts";
export { CLOCK_SLACK_MS, isTimeOrdered, rowsBefore, writtenAtMs } from "./trail/row_times.ts";
export { queryAudit } from "./trail/search.ts";
export { Sequencer } from "./trail/sequencer.ts";
export { tailAudit } from "./trail/tail.ts";
export { type KeyMaker, makeTenantKey, openTenantKey } from "./trail/tenant_keys.ts";
export { endOfTile, isLeaf, isLeafAt, leavesOf, nodesOf } from "./trail/tiles.ts";
export type { Consistency, Verdict, VerifyOptions } from "./trail/verify.ts";
export { verifyExport } from "./trail/verify_export.ts";
export { type Notice, NOTICES } from "./types/notices.ts";
export { RESOURCE_TYPES, type ResourceType } from "./types/resources.ts";
export {
  EVENT_TYPES,
  isWebhookEvent,
  PING,
  WEBHOOK_EVENTS,
  type WebhookEventType,
} from "./types/webhook_events.ts";
