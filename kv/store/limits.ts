// What Deno KV takes, from its source (ext/kv/config.rs) and measured on 2.9.6. A store that refuses
// in time gives a better error than the engine does after the fact.

/** The embedded engine takes 100 checks an atomic; a self-hosted denokv server takes 10. */
export const CHECKS_MAX = 100;
export const CHECKS_MAX_SHARED = 10;
export const MUTATIONS_MAX = 1_000;
export const ATOMIC_BYTES_MAX = 819_200;
/** All keys that one atomic sets, together; those it checks or deletes do not count. */
export const KEY_BYTES_MAX = 81_920;
export const GET_MANY_MAX = 10;
/** Longest delay of a queue message: 30 days. */
export const DELAY_MS_MAX = 30 * 24 * 60 * 60 * 1000;

/** One line of the log; four of them always fit into one journal value. */
export const LINE_BYTES_MAX = 15 * 1024;
/** A journal or segment value stays below the engine's cap with room for its own header. */
export const LOG_VALUE_BYTES_MAX = 60 * 1024;
/** Tenants of the events of one commit, which one sequencing atomic moves. */
export const TENANTS_MAX = 128;
/** Each follower costs a sequencing atomic one pending key for each tenant; with five it still fits. */
export const FOLLOWERS_MAX = 5;
/** A chunk of a large value. */
export const CHUNK_BYTES = 60 * 1024;
/** Largest value that is stored in chunks: 2 MiB, so its chunks fit into one delete. */
export const BLOB_BYTES_MAX = 2 * 1024 * 1024;
