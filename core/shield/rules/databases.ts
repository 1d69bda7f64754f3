import { hasFlag, hasOption, isRehearsal, operands, optionValues } from "../arguments.ts";
import { once, type SimpleCommand } from "../command.ts";
import { awsWords } from "./cloud.ts";
import type { Rule } from "../rule.ts";
import { scanSql, type SqlHarm } from "../sql.ts";

const CLIENTS = [
  "psql",
  "mysql",
  "mariadb",
  "sqlite3",
  "sqlite",
  "cqlsh",
  "clickhouse-client",
  "clickhouse",
  "sqlcmd",
  "bcp",
  "sqlplus",
  "duckdb",
  "cockroach",
  "usql",
  "isql",
  "isql-fb",
  "osql",
  "tsql",
  "snowsql",
  "bq",
  "trino",
  "presto",
  "hive",
  "beeline",
  "impala-shell",
  "pgcli",
  "mycli",
  "litecli",
  "turso",
  "spanner-cli",
  "influx",
  "db2",
  "vsql",
  "ysqlsh",
  "wrangler",
  "supabase",
  "invoke-sqlcmd",
  "spark-sql",
  "athenacli",
  "questdb",
  "cypher-shell",
  "aws",
];

/** The text of a message that these services of `aws` send is no SQL. */
const MESSENGERS = new Set(["chime", "pinpoint", "ses", "sesv2", "sns", "sqs"]);

/** Every text that a client may take for SQL: its arguments and what is piped in. */
function sqlHarm(command: SimpleCommand): SqlHarm {
  if (command.name === "aws" && MESSENGERS.has(once(command, awsWords)[0] ?? "")) return "none";
  let worst: SqlHarm = "none";
  const given = optionValues(command, "-c", "-e", "-q", "-Q");
  for (const text of [...given, ...command.args, command.stdin?.text ?? ""]) {
    const harm = scanSql(
      text.startsWith("-") && text.includes("=") ? text.slice(text.indexOf("=") + 1) : text,
    );
    if (harm === "destroys" || worst === "none") worst = harm === "none" ? worst : harm;
  }
  return worst;
}

const REDIS_WORDS = new Set(["flushall", "flushdb", "shutdown", "swapdb", "debug", "script"]);

/** Databases, their clients and their files. */
export const DATABASE_RULES: readonly Rule[] = [
  {
    id: "databases.sql_destroys",
    pack: "databases",
    commands: CLIENTS,
    when: { ask: sqlHarm, answers: ["destroys"] },
    match: () => true,
    blast: 4,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "The SQL drops or empties tables, or deletes without a condition.",
    safer_alternative:
      "Take a dump first, run it in a transaction, and look at the count before COMMIT.",
  },
  {
    id: "databases.sql_changes",
    pack: "databases",
    commands: CLIENTS,
    when: { ask: sqlHarm, answers: ["changes"] },
    match: () => true,
    blast: 2,
    irreversibility: 4,
    threat: "data_change",
    explanation: "The SQL deletes rows, changes rights or drops parts of a table.",
    safer_alternative: "Run it in a transaction and look at the result before COMMIT.",
  },
  {
    id: "databases.drop",
    pack: "databases",
    commands: [
      "dropdb",
      "dropuser",
      "mysqladmin",
      "pg_dropcluster",
      "pg_resetwal",
      "initdb",
      "mongorestore",
      "pg_restore",
      "dropdb.exe",
      "cassandra-cli",
      "nodetool",
      "pg_ctl",
      "etcdctl",
      "consul",
    ],
    match: dropsDatabase,
    blast: 4,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It deletes a database or restores over one.",
    safer_alternative: "Take a dump first, or restore into a new database.",
  },
  {
    id: "databases.redis_flush",
    pack: "databases",
    commands: ["redis-cli", "valkey-cli", "keydb-cli", "dragonfly-cli"],
    match: (command) => {
      const words = [
        ...operands(command, REDIS_VALUED),
        ...(command.stdin?.text ?? "").split("\n").flatMap((line) => line.split(" ")),
      ].map((word) => word.toLowerCase());
      const verb = words.find((word) => REDIS_WORDS.has(word));
      if (verb === "script") return words.includes("flush");
      if (verb === "debug") return words.includes("segfault") || words.includes("reload");
      return verb !== undefined || (words[0] === "config" && words[1] === "set") ||
        words[0] === "slaveof" || words[0] === "replicaof" ||
        (words[0] === "module" && words[1] !== "list") ||
        (words[0] === "cluster" && ["reset", "forget", "flushslots"].includes(words[1] ?? "")) ||
        (words[0] === "eval" &&
          words.some((word) => word.includes("flushall") || word.includes("redis.call")));
    },
    blast: 4,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It empties, stops or reconfigures a Redis server.",
    safer_alternative: "Delete the named keys, and run BGSAVE first.",
  },
  {
    id: "databases.redis_delete",
    pack: "databases",
    commands: ["redis-cli", "valkey-cli", "keydb-cli", "dragonfly-cli"],
    match: (command) =>
      ["del", "unlink", "xtrim", "ltrim"].includes(
        operands(command, REDIS_VALUED)[0]?.toLowerCase() ?? "",
      ),
    blast: 2,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It deletes keys.",
    safer_alternative: "Rename the key, or give it an expiry.",
  },
  {
    id: "databases.mongo_drop",
    pack: "databases",
    commands: ["mongosh", "mongo"],
    match: (command) => {
      const text = [...command.args, command.stdin?.text ?? ""].join(" ").toLowerCase();
      return MONGO.some((needle) => text.includes(needle));
    },
    blast: 4,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It drops a collection or database, or deletes every document.",
    safer_alternative: "Take a mongodump first, and count what the filter matches.",
  },
];

const REDIS_VALUED = new Set(["-h", "-p", "-a", "-n", "-u", "-s", "--user", "--pass", "-i", "-r"]);
const MONGO = [
  "dropdatabase",
  ".drop(",
  "deletemany({})",
  "deletemany( {} )",
  ".remove({})",
  "dropcollection",
  "dropindexes(",
  "dropuser",
  "dropalluser",
  "shutdownserver",
  "shutdown:",
  "rs.reconfig(",
  "deletemany(",
  ".bulkwrite(",
  "findanddelete",
  "deleteone(",
  "updatemany({}",
  "update({}",
];

function dropsDatabase(command: SimpleCommand): boolean {
  if (isRehearsal(command)) return false;
  switch (command.name) {
    case "mysqladmin":
      return ["drop", "shutdown", "flush-privileges", "password"].some((word) =>
        command.args.includes(word)
      );
    case "mongorestore":
      return hasOption(command, "--drop");
    case "pg_restore":
      return hasFlag(command, "c", "clean");
    case "initdb":
      return false;
    case "nodetool":
      return [
        "decommission",
        "removenode",
        "clearsnapshot",
        "assassinate",
        "drain",
        "truncatehints",
      ].some((word) => command.args.includes(word));
    case "pg_ctl":
      return command.args.includes("stop") &&
        optionValues(command, "-m", "--mode").includes("immediate");
    case "etcdctl":
      return command.args.includes("del") ||
        (command.args.includes("member") && command.args.includes("remove"));
    case "consul":
      return (command.args.includes("kv") && command.args.includes("delete")) ||
        command.args.includes("force-leave");
    default:
      return operands(command).length > 0;
  }
}
