/**
 * One call of a rule: its context by what it may do (read, write in one transaction, or take several commits), and
 * what calls share: idempotency keys and read-only fields. Changes may also send messages to other instances. Nothing here keeps state.
 */
export {
  checkIdempotencyKey,
  digestOfCall,
  earlierCall,
  IDEMPOTENCY_KEY,
  type KeyRecords,
  keyTaken,
  once,
} from "./idempotency_key.ts";
export type { Reading, Stepping, Work, Writing } from "./kinds.ts";
export { type Message, readMessage, sendMessage } from "./messages.ts";
export { mustMatchRecord } from "./read_only.ts";
