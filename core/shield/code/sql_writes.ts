import { isUnknown } from "../programs/arguments.ts";
import { rememberLast } from "./remember_last.ts";
import { sqlStatements } from "./sql.ts";

/** What a text that is given to a client of a database does, besides destroying. */
export interface SqlEffect {
  /** Whether it writes rows, changes objects, runs procedures or interferes with the server. */
  readonly writes: boolean;
  /** Whether it runs statements that cannot be seen here: another file, or text made by a query. */
  readonly runsUnseen: boolean;
}

/** Reads the statements, and the lines that clients take for themselves (`\copy`, `.import`, `source`). */
export const readSql = rememberLast(effectOf);

function effectOf(text: string): SqlEffect {
  const own = OWN_LINE.test(text);
  const lines = own ? text.split("\n").map((line) => line.trim()) : [];
  const told = lines.filter((line) => OWN_COMMAND.test(line));
  const rest = told.length === 0
    ? text
    : lines.filter((line) => !OWN_COMMAND.test(line)).join("\n");
  return {
    writes: told.some((line) => OWN_WRITES.test(line)) ||
      (LIKELY.test(rest) && sqlStatements(rest).some(writes)),
    runsUnseen: told.some((line) => OWN_UNSEEN.test(line)) || text.includes("\\gexec") ||
      isUnseen(rest),
  };
}

/** Whether a statement is unknown from its first word on. */
const isUnseen = (text: string): boolean =>
  isUnknown(text) && sqlStatements(text).some(([first = ""]) => isUnknown(first));

/** A quick look: whether some line may be a command of the client. */
const OWN_LINE = /(?:^|\n)[ \t]{0,40}(?:[\\.@]|source\s|start\s)/i;
const OWN_COMMAND = /^(?:\\|\.[a-z]|@|source\s|start\s+\S+\.sql)/i;
const OWN_WRITES =
  /^(?:\\copy\b(?!.*\bto\b).*\bfrom\b|\\lo_(?:import|unlink)|\\password|\.(?:import|restore|load|archive)\b)/i;
const OWN_UNSEEN = /^(?:\\ir?\s|\\include|\\\.\s|source\s|\.read\s|@|start\s)/i;

/** A quick look, before the statements are read. */
const LIKELY =
  /insert|replace|update|delete|merge|upsert|copy|load|create|alter|drop|rename|truncate|comment|reindex|cluster|refresh|vacuum|optimize|repair|flush|kill|cancel|lock|call|exec|do\b|reset|import|clone|system|attach|detach|exchange|undrop|restore|dbcc|shutdown|startup|force|quiesce|deactivate|reorg|rollforward|xa\b|prepared|label|batch|into|pg_|setval|lo_|dblink|cron\.|chunk|hypertable|policy|distributed/i;

type Condition = (rest: readonly string[], words: readonly string[]) => boolean;

const always: Condition = (rest) => rest.length > 0;
const has = (...wanted: readonly string[]): Condition => (rest) =>
  rest.some((word) => wanted.includes(word));
const followedBy = (...seconds: readonly string[]): Condition => ([second = ""]) =>
  seconds.includes(second);
const notFollowedBy = (...seconds: readonly string[]): Condition => (rest) =>
  rest.length > 1 && !seconds.includes(rest[0] ?? "");

/** Statements by their first word. */
const WRITERS: ReadonlyMap<string, Condition> = new Map([
  ["insert", (rest) => rest.length > 1],
  ["replace", (rest) => rest.length > 1],
  ["upsert", (rest) => rest.length > 1],
  ["merge", always],
  ["update", (rest) => rest.includes("set")],
  ["delete", (rest) => rest.length > 1],
  ["copy", (rest) => rest.includes("from") && !rest.includes("to") && !rest[1]?.startsWith("@")],
  ["load", followedBy("data", "xml", "local", "table", "index")],
  ["create", createsObject],
  ["alter", notFollowedBy("session")],
  ["drop", notFollowedBy("temporary", "temp", "prepare")],
  ["truncate", always],
  ["rename", always],
  ["comment", followedBy("on")],
  ["security", followedBy("label")],
  ["reindex", always],
  ["cluster", always],
  ["refresh", followedBy("materialized")],
  ["vacuum", has("full")],
  ["optimize", always],
  ["repair", always],
  ["msck", always],
  ["flush", always],
  ["kill", always],
  ["cancel", followedBy("query", "queries", "session", "sessions", "job", "jobs", "backup")],
  ["lock", always],
  [
    "call",
    ([name = ""]) =>
      name !== "" && !/^(?:db\.(?!create|clear)|dbms\.(?:list|comp|show)|apoc\.meta)/.test(name),
  ],
  ["exec", (rest) => callsProcedure(rest)],
  ["execute", (rest) => callsProcedure(rest)],
  ["do", always],
  ["reset", followedBy("master", "replica", "slave", "binary", "query", "persist")],
  ["import", always],
  ["clone", always],
  ["system", always],
  ["exchange", always],
  ["detach", followedBy("table", "view", "dictionary", "permanently")],
  ["attach", followedBy("table", "view", "dictionary", "partition")],
  ["force", always],
  ["quiesce", always],
  ["deactivate", always],
  ["reorg", always],
  ["rollforward", always],
  ["undrop", always],
  ["restore", notFollowedBy("verifyonly", "headeronly", "filelistonly", "labelonly")],
  [
    "dbcc",
    has(
      "shrinkfile",
      "shrinkdatabase",
      "freeproccache",
      "freesystemcache",
      "dropcleanbuffers",
      "traceon",
      "traceoff",
      "reseed",
      "writepage",
      "repair_rebuild",
      "repair_allow_data_loss",
      "repair_fast",
    ),
  ],
  ["shutdown", always],
  ["startup", always],
  ["xa", followedBy("commit", "rollback")],
  ["commit", followedBy("prepared")],
  ["rollback", followedBy("prepared")],
  ["select", (rest) => selectsInto(rest)],
]);

/** Statements inside others: after WITH, EXPLAIN ANALYZE, BEGIN, DECLARE and the like. */
const INNER: ReadonlyMap<string, Condition> = new Map([
  ["insert", followedBy("into", "overwrite", "ignore", "or", "all")],
  ["replace", followedBy("into")],
  ["merge", followedBy("into")],
  ["update", (rest) => rest.includes("set")],
  ["delete", followedBy("from")],
  ["exec", (rest) => callsProcedure(rest)],
  ["execute", (rest) => callsProcedure(rest)],
  ["alter", followedBy("table", "database", "index", "user", "role", "login")],
  ["create", followedBy("table", "index", "view", "procedure", "function", "trigger", "user")],
  ["kill", ([second = ""]) => /^\d+$/.test(second)],
]);

/** First words of statements that hold others. */
const HOLDERS = new Set([
  "with",
  "begin",
  "declare",
  "if",
  "use",
  "go",
  "while",
  "for",
  "prepare",
  "explain",
  "profile",
  "unwind",
  "batch",
]);

function writes(words: readonly string[]): boolean {
  const [first = "", ...rest] = words;
  if (words.some((word) => SERVER_CALLS.has(word))) return first !== "show" && first !== "explain";
  if (first === "explain" && !analyzes(rest)) return false;
  if (HOLDERS.has(first) || (first === "set" && (rest[1] === "on" || rest[1] === "off"))) {
    return rest.some((word, at) =>
      INNER.get(word)?.(rest.slice(at + 1, at + WINDOW), words) ?? false
    );
  }
  return WRITERS.get(first)?.(rest, words) ?? false;
}

/** How far behind an inner verb its words are looked for; it keeps the time linear. */
const WINDOW = 40;

const analyzes = (rest: readonly string[]): boolean => {
  const at = rest.findIndex((word) => word === "analyze" || word === "analyse");
  return at >= 0 && !["false", "off", "0"].includes(rest[at + 1] ?? "");
};

/** Words before the kind of a new object, and the kinds that last no longer than the session. */
function createsObject(rest: readonly string[]): boolean {
  if (rest.length < 2) return false;
  const kinds = rest.slice(0, 4);
  return !kinds.includes("temporary") && !kinds.includes("temp") && !rest[1]?.startsWith("#") &&
    rest[0] !== "database";
}

/** `SELECT … INTO name FROM …` makes a table; `INTO @variable` does not. */
function selectsInto(rest: readonly string[]): boolean {
  const at = rest.indexOf("into");
  const [name = "", ...after] = at < 0 ? [] : rest.slice(at + 1);
  return name !== "" && name !== "''" && !/^[@:#]/.test(name) &&
    !["outfile", "dumpfile", "temp", "temporary"].includes(name) && after.includes("from");
}

/** Procedures of SQL Server that only tell something. */
const READERS =
  /^(?:(?:\w+\.)*(?:sp_(?:who|help|spaceused|lock|monitor|columns|tables|databases|pkeys|fkeys|special_columns|statistics|stored_procedures|readerrorlog|blitz|server_info|depends|describe)|xp_(?:fixeddrives|readerrorlog|msver|logininfo)))/;

function callsProcedure(rest: readonly string[]): boolean {
  const name = rest.find((word) => !word.startsWith("@")) ?? "";
  return name !== "" && name !== "on" && name !== "privilege" && !READERS.test(name);
}

/** Functions that a query may call to change the server or its data. */
const SERVER_CALLS = new Set([
  "pg_terminate_backend",
  "pg_cancel_backend",
  "pg_stat_reset",
  "pg_stat_reset_shared",
  "pg_stat_statements_reset",
  "pg_create_physical_replication_slot",
  "pg_create_logical_replication_slot",
  "pg_replication_slot_advance",
  "pg_logical_slot_get_changes",
  "pg_wal_replay_pause",
  "pg_wal_replay_resume",
  "pg_backup_start",
  "pg_start_backup",
  "pg_backup_stop",
  "pg_stop_backup",
  "setval",
  "lo_unlink",
  "lo_put",
  "lo_from_bytea",
  "dblink_exec",
  "cron.schedule",
  "cron.unschedule",
  "cron.alter_job",
  "create_hypertable",
  "drop_chunks",
  "compress_chunk",
  "decompress_chunk",
  "add_retention_policy",
  "remove_retention_policy",
  "add_compression_policy",
  "create_distributed_table",
  "undistribute_table",
  "rebalance_table_shards",
  "citus_add_node",
  "citus_remove_node",
  "citus_rebalance_start",
]);
