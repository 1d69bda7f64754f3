/**
 * One call of a rule: its context by what it may do (read, write in one transaction, or take several commits), and
 * what calls share: the 202 answer, a cookie in the answer, idempotency keys and read-only fields. Changes may also
 * send messages to other instances. Nothing here keeps state.
 */
export { Accepted } from "./accepted.ts";
export { type Cookie, Redirect, WithCookie, WithSession } from "./cookie.ts";
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
