// The limits of Deno KV, from its source (ext/kv/config.rs) and measured on 2.9.6. The store checks them
// first, because its errors say more than the engine's.

/** Checks of one atomic: 100 on the embedded engine, 10 on a self-hosted denokv server. */
export const CHECKS_MAX = 100;
export const CHECKS_MAX_SHARED = 10;
/** Mutations of one atomic: 1,000, of which one marks a commit to a database server. */
export const MUTATIONS_MAX = 999;
export const ATOMIC_BYTES_MAX = 819_200;
/** All keys that one atomic sets. Keys that it checks or deletes do not count. */
export const KEY_BYTES_MAX = 81_920;
export const GET_MANY_MAX = 10;
/** The longest delay of a queue message: 30 days. */
export const DELAY_MS_MAX = 30 * 24 * 60 * 60 * 1000;

/** One event line. Four of them always fit into one outbox value. */
export const LINE_BYTES_MAX = 15 * 1024;
/** An outbox or segment value, below the engine's limit of 64 KiB. */
export const LOG_VALUE_BYTES_MAX = 60 * 1024;
/** Tenants of the events of one commit, which one sequencing atomic moves. */
export const TENANTS_MAX = 128;
/** Each follower costs a sequencing atomic one pending key for each tenant; with five it still fits. */
export const FOLLOWERS_MAX = 5;
/** A chunk of a blob. */
export const CHUNK_BYTES = 60 * 1024;
/** The largest blob: 2 MiB, so that one commit can delete its chunks. */
export const BLOB_BYTES_MAX = 2 * 1024 * 1024;
