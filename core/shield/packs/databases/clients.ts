import { isScratchFile, touchesNothing } from "./scratch.ts";
import { callsOf } from "../../code/mongo.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { hasFlag, hasOption, operands, optionValues } from "../../programs/arguments.ts";
import { generatedSql } from "../../code/generated_sql.ts";
import { scanSql, type SqlHarm } from "../../code/sql.ts";

/** The clients of databases that take SQL. */
export const CLIENTS = [
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

const AWS_VALUED = new Set(["--profile", "--region", "--output", "--query", "--endpoint-url"]);
/** The text of a message that these services of `aws` send is no SQL. */
const MESSENGERS = new Set(["chime", "pinpoint", "ses", "sesv2", "sns", "sqs"]);

/** Every text that a client may take for SQL: its arguments and what is piped in. */
function sqlHarm(command: SimpleCommand): SqlHarm {
  if (command.name === "aws" && MESSENGERS.has(operands(command, AWS_VALUED)[0] ?? "")) {
    return "none";
  }
  const isLocal = command.name === "duckdb";
  if (touchesNothing(command) || (!isLocal && isScratchFile(command))) return "none";
  let worst: SqlHarm = "none";
  const given = optionValues(command, "-c", "-e", "-q", "-Q");
  for (const text of [...given, ...command.args, command.stdin?.text ?? ""]) {
    const harm = scanSql(
      text.startsWith("-") && text.includes("=") ? text.slice(text.indexOf("=") + 1) : text,
      isLocal,
    );
    if (harm === "destroys" || worst === "none") worst = harm === "none" ? worst : harm;
    // psql runs what the query before it has written.
    if (text.includes("\\gexec") && scanSql(generatedSql(text) ?? "") !== "none") return "destroys";
  }
  return worst;
}

const REDIS_WORDS = new Set(["flushall", "flushdb", "shutdown", "swapdb", "debug", "script"]);

/** `HELP shutdown`, `COMMAND INFO flushall` and `ACL DRYRUN app flushall` run no other command. */
function asksAbout([verb = "", next = ""]: readonly string[]): boolean {
  return verb === "help" || verb === "?" || verb === "command" ||
    verb === "acl" && next === "dryrun" || ONE_KEY.has(verb);
}

/** Reads of keys, which may have any name. */
const ONE_KEY = new Set(
  "dump echo exists get hget hgetall hkeys keys llen lrange mget object pttl scard smembers strlen ttl type"
    .split(" "),
);

/** Databases, their clients and their files. */
export const DATABASE_RULES: readonly Rule[] = [
  rule({
    id: "databases.sql_destroys",
    title: "Drop or empty tables",
    commands: CLIENTS,
    when: { ask: sqlHarm, answers: ["destroys"] },
    match: () => true,
    evenRehearsed: true,
    weight: [4, 4],
    threat: "data_loss",
    explanation: "The SQL drops or empties tables, or deletes without a condition.",
    safer: "Take a dump first, run it in a transaction, and look at the count before COMMIT.",
    hits: [
      "psql -c 'drop table x'",
      "mysql -e 'delete from users'",
      `psql -Atc "select 'drop table '||tablename||';' from pg_tables" | psql shop`,
      `echo "select format('drop table %I', tablename) from pg_tables \\gexec" | psql shop`,
    ],
    misses: [
      "psql -d app -c '\\dt+'",
      "mysql -e 'select 1'",
      `psql -Atc "select 'drop table '||tablename||';' from pg_tables"`,
    ],
  }),
  rule({
    id: "databases.sql_changes",
    title: "Delete rows or change rights",
    commands: CLIENTS,
    when: { ask: sqlHarm, answers: ["changes"] },
    match: () => true,
    evenRehearsed: true,
    weight: [2, 4],
    threat: "data_change",
    explanation: "The SQL deletes rows, changes rights or drops parts of a table.",
    safer: "Run it in a transaction and look at the result before COMMIT.",
    hits: ["mysql -e 'delete from users where id = 1'", `psql -c "COPY users TO '/tmp/u.csv'"`],
    misses: ["psql -c 'select count(*) from users'", "sqlite3 app.db .tables"],
  }),
  rule({
    id: "databases.drop",
    title: "Delete a database or restore over one",
    phrases: [
      "dropdb|dropuser|pg_dropcluster|pg_resetwal|cassandra-cli …",
      "mysqladmin drop|shutdown|flush-privileges|password",
      "mongorestore --drop",
      "nodetool decommission|removenode|clearsnapshot|assassinate|drain|truncatehints",
      "pg_ctl -m|--mode=immediate",
      "etcdctl del",
      "etcdctl member remove",
      "consul kv delete",
      "consul force-leave",
    ],
    commands: ["pg_restore"],
    match: (command) =>
      command.name === "pg_restore" &&
      (hasFlag(command, "cC", "clean", "create") ||
        optionValues(command, "-d", "--dbname").length > 0) &&
      // With a file it writes a script, and touches no database.
      !hasFlag(command, "lf", "list", "file"),
    weight: [4, 4],
    threat: "data_loss",
    explanation: "It deletes a database or restores over one.",
    safer: "Take a dump first, or restore into a new database.",
    hits: ["dropdb app", "mongorestore --drop dump/"],
    misses: [
      "etcdctl endpoint health",
      "pg_restore --list app.dump",
      "pg_restore --clean -f /tmp/script.sql nightly.dump",
    ],
  }),
  rule({
    id: "databases.redis_flush",
    title: "Empty or stop a Redis server",
    commands: ["redis-cli", "valkey-cli", "keydb-cli", "dragonfly-cli"],
    match: (command) => {
      const given = operands(command, REDIS_VALUED).map((word) => word.toLowerCase());
      const words = [
        ...given,
        ...(command.stdin?.text ?? "").split("\n").flatMap((line) => line.split(" ")),
      ].map((word) => word.toLowerCase());
      if (/^(?:-v|--version|--help)$/.test(command.args[0] ?? "") || asksAbout(given)) return false;
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
    evenRehearsed: true,
    weight: [4, 4],
    threat: "data_loss",
    explanation: "It empties, stops or reconfigures a Redis server.",
    safer: "Delete the named keys, and run BGSAVE first.",
    hits: ["redis-cli FLUSHALL", "redis-cli shutdown nosave"],
    misses: ["redis-cli GET user:1", "redis-cli INFO memory"],
  }),
  rule({
    id: "databases.redis_delete",
    title: "Delete Redis keys",
    commands: ["redis-cli", "valkey-cli", "keydb-cli", "dragonfly-cli"],
    match: (command) =>
      ["del", "unlink", "xtrim", "ltrim"].includes(
        operands(command, REDIS_VALUED)[0]?.toLowerCase() ?? "",
      ),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "data_loss",
    explanation: "It deletes keys.",
    safer: "Rename the key, or give it an expiry.",
    hits: ["redis-cli DEL user:1", "redis-cli --scan --pattern 'session:*' | xargs redis-cli del"],
    misses: ["redis-cli --latency", "redis-cli TTL user:1"],
  }),
  rule({
    id: "databases.mongo_drop",
    title: "Drop a MongoDB collection or database",
    commands: ["mongosh", "mongo"],
    match: (command) => {
      if (hasOption(command, "--nodb") || touchesNothing(command)) return false;
      const given = [...optionValues(command, "--eval", "-e"), command.stdin?.text ?? ""].join(
        "\n",
      );
      const text = callsOf(given) + (COMMANDS.exec(given.toLowerCase())?.[0] ?? "");
      return MONGO.some((needle) => text.includes(needle));
    },
    evenRehearsed: true,
    weight: [4, 4],
    threat: "data_loss",
    explanation: "It drops a collection or database, or deletes every document.",
    safer: "Take a mongodump first, and count what the filter matches.",
    hits: ["mongosh --eval 'db.dropDatabase()'", "mongo prod --eval 'db.users.remove({})'"],
    misses: ["mongosh --eval 'db.stats()'", "mongosh --eval 'db.users.find().limit(5)'"],
  }),
];

const REDIS_VALUED = new Set(["-h", "-p", "-a", "-n", "-u", "-s", "--user", "--pass", "-i", "-r"]);
/** A command that is named by a string: `db.runCommand("dropDatabase")`. */
const COMMANDS = /command\(\s{0,9}\{?\s{0,9}["']?(?:drop\w*|shutdown|delete)["'\s]*:?/;

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
