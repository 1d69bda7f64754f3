import type { Tenant } from "../../../../kv/store/collection.ts";

/** One webhook's waiting and running attempts, as far as this process knows. */
export interface Receiver {
  readonly id: string;
  readonly tenant: Tenant;
  readonly webhookId: string;
  /** When its first delivery is due; Infinity when none is known. */
  dueMs: number;
  /** No attempt starts before this time, because the rate limit is used up. */
  notBeforeMs: number;
  running: number;
  /** Attempts that may run at once; it adapts to the receiver's answers. */
  limit: number;
  /** True when the last attempt got no answer. */
  suspect: boolean;
  /** True while its due deliveries are being claimed. */
  claiming: boolean;
  /** The earliest timer in the heap; a later due time needs none of its own. */
  timerMs: number;
}
