import { readSql } from "../../code/sql_writes.ts";
import { isUnknown, optionValues } from "../../programs/arguments.ts";
import { CLIENTS } from "./clients.ts";
import { isScratch, NAMED_AS_READING, touchesNothing } from "./scratch.ts";
import { once, type Rule, rule, type SimpleCommand, UNKNOWN } from "../rule.ts";

/** How a client takes statements, if it takes any. */
interface Client {
  /** A word of which one has to stand among the arguments, in tools that do much else. */
  readonly needs: readonly string[];
  /** Options whose value is SQL; with them the client does not read its input. */
  readonly inline: readonly string[];
  /** Options whose value is a file of SQL. */
  readonly files: readonly string[];
}

const PSQL = { inline: ["-c", "--command"], files: ["-f", "--file"] };
const MYSQL = { inline: ["-e", "--execute"], files: [] };
const TSQL = { inline: ["-Q", "-q", "-query"], files: ["-i", "-inputfile"] };
const HIVE = { inline: ["-e", "-q", "--query", "--execute"], files: ["-f", "--file", "-i"] };

const of = (
  names: string,
  { inline, files }: Omit<Client, "needs">,
  ...needs: readonly string[]
): [string, Client][] => names.split(" ").map((name) => [name, { inline, files, needs }]);

const STATEMENT_CLIENTS: ReadonlyMap<string, Client> = new Map([
  ...of("psql ysqlsh vsql usql pgcli edb-psql gsql", PSQL),
  ...of("mysql mariadb mycli", MYSQL),
  ...of("mysqlsh", { inline: MYSQL.inline, files: ["-f", "--file"] }),
  ...of("sqlite3 sqlite litecli", { inline: ["-cmd"], files: ["-init"] }),
  ...of("duckdb", { inline: ["-c", "-s", "-cmd"], files: ["-f", "-init"] }),
  ...of("cqlsh", { inline: ["-e", "--execute"], files: ["-f", "--file"] }),
  ...of("clickhouse-client clickhouse-local clickhouse chc", {
    inline: ["-q", "--query"],
    files: ["--queries-file"],
  }),
  ...of("sqlcmd osql isql isql-fb fsql tsql mssql-cli invoke-sqlcmd", TSQL),
  ...of("sqlplus sql sqlcl isqlplus hdbsql nzsql ij csql mclient exaplus", {
    inline: ["-c"],
    files: ["-i", "-f"],
  }),
  ...of("snowsql", { inline: ["-q", "--query"], files: ["-f", "--filename"] }),
  ...of("trino presto hive beeline impala-shell spark-sql spanner-cli athenacli questdb", HIVE),
  ...of("cypher-shell mgconsole", { inline: [], files: ["-f", "--file"] }),
  ...of("db2", { inline: [], files: ["-f", "-tvf", "-tf", "-stf", "-stvf", "-vtf"] }),
  ...of("cockroach", { inline: ["-e", "--execute"], files: ["-f", "--file"] }, "sql"),
  ...of("bq", { inline: [], files: [] }, "query"),
  ...of("turso", { inline: [], files: [] }, "shell"),
  ...of("heroku", PSQL, "pg:psql", "psql"),
  ...of("render", PSQL, "psql"),
  ...of("pscale", { inline: ["--execute", "-e"], files: [] }, "shell", "sql"),
  ...of("fly flyctl", PSQL, "connect"),
  ...of("wrangler", { inline: ["--command"], files: ["--file"] }, "execute"),
  ...of("supabase", { inline: [], files: ["-f", "--file"] }, "execute", "query"),
  ...of("platform upsun", { inline: [], files: [] }, "sql", "db:sql", "environment:sql"),
  ...of(
    "drush",
    { inline: [], files: ["--file"] },
    "sqlc",
    "sql-cli",
    "sql:cli",
    "sqlq",
    "sql-query",
    "sql:query",
  ),
  ...of(
    "dokku",
    { inline: [], files: [] },
    "postgres:connect",
    "mysql:connect",
    "mariadb:connect",
    "postgres:import",
    "mysql:import",
    "mariadb:import",
    "mongo:import",
    "redis:import",
  ),
  ...of("manage.py django-admin", { inline: ["-c"], files: [] }, "dbshell"),
  ...of("python python3", { inline: [], files: [] }, "dbshell"),
  ...of("wp", { inline: [], files: [] }, "query", "cli"),
  ...of("fossil", { inline: [], files: [] }, "sql", "sqlite3"),
  ...of("dolt", { inline: ["-q", "--query"], files: ["-f", "--file"] }, "sql"),
  ...of("snow", { inline: ["-q", "--query"], files: ["-f", "--filename"] }, "sql"),
  ...of("rails rake", { inline: [], files: [] }, "db", "dbconsole"),
]);

/** Clients whose other arguments may hold SQL besides those of `STATEMENT_CLIENTS`; `influx` takes Flux. */
const NAMES = [...new Set([...STATEMENT_CLIENTS.keys(), ...CLIENTS])]
  .filter((name) => name !== "aws" && name !== "bcp");

type Effect = "writes" | "unseen" | "";

function effectOf(command: SimpleCommand): Effect {
  const client = STATEMENT_CLIENTS.get(command.name);
  const { args } = command;
  if (
    client !== undefined && client.needs.length > 0 &&
    !args.some((arg) => client.needs.includes(arg))
  ) {
    return "";
  }
  if (touchesNothing(command) || isScratch(command)) return "";
  const given = client === undefined ? [] : optionValues(command, ...client.inline);
  const texts = [...given, ...args.map(valueOf)];
  const seen = [command.inputs?.text ?? "", command.stdin?.text ?? ""];
  // A value of an option is also an argument, and a file that is read may also be the input.
  const effects = new Map([...new Set([...texts, ...seen])].map((text) => [text, readSql(text)]));
  if (effects.values().some(({ writes }) => writes)) return "writes";
  if (CYPHER.has(command.name) && [...texts, ...seen].some(writesGraph)) return "writes";
  if (command.name === "influx" && [...texts, ...seen].some((text) => FLUX_WRITES.test(text))) {
    return "writes";
  }
  const isUnseen = texts.some((text) => text.includes("\\gexec") || OWN_FILE.test(text)) ||
    [...given, ...seen].some((text) => effects.get(text)?.runsUnseen) ||
    (client !== undefined && runsFile(command, client, given));
  return isUnseen ? "unseen" : "";
}

/** Flux writes what it found with `to()`. */
const FLUX_WRITES = /\|>\s*(?:experimental\.)?to\s*\(/;

/** Commands of clients that read a file: `\i x.sql`, `source x.sql`, `@x.sql`, `.read x.sql`. */
const OWN_FILE = /^\s*(?:\\ir?\s|\\include|\\\.\s|source\s|\.read\s|@\S+\.sql)/i;

/** Whether it runs a file or an input whose content the line does not show. */
function runsFile(
  command: SimpleCommand,
  { inline, files }: Client,
  given: readonly string[],
): boolean {
  const named = files.length === 0 ? [] : optionValues(command, ...files);
  if (named.some((file) => !isKnown(command, file) && !NAMED_AS_READING.test(file))) return true;
  if (named.length > 0 || given.length > 0 || hasStatement(command, inline)) return false;
  const { stdin } = command;
  if (stdin === null || (stdin.text !== null && stdin.text !== UNKNOWN)) return false;
  const from = command.redirections.find(({ operator }) => operator === "<");
  return from === undefined || !NAMED_AS_READING.test(from.target);
}

const isKnown = ({ inputs, stdin }: SimpleCommand, file: string): boolean =>
  inputs?.text != null || (/^(?:-|\/dev\/stdin)$/.test(file) && stdin?.text != null);

/** Clients that take a statement as an operand do not read their input then. */
const hasStatement = ({ args, name }: SimpleCommand, inline: readonly string[]): boolean =>
  name !== "psql" && (inline.length === 0 || name.startsWith("sqlite") || name === "duckdb") &&
  args.some((arg) => arg.includes(" ") && !isUnknown(arg));

const valueOf = (arg: string): string =>
  arg.startsWith("-") && arg.includes("=") ? arg.slice(arg.indexOf("=") + 1) : arg;

const CYPHER = new Set(["cypher-shell", "mgconsole"]);
const GRAPH_WRITES =
  /\b(?:create|merge|set|delete|remove|foreach|drop|alter|grant|deny|revoke|start|stop)\b/i;
const writesGraph = (text: string): boolean =>
  text.includes(" ") && GRAPH_WRITES.test(text.replace(/'[^']*'|"[^"]*"/g, "''")) &&
  !/^\s*(?:show|explain)\b/i.test(text);

const ask = (command: SimpleCommand): Effect => once(command, effectOf);

/** Changes of the rows and the objects of databases. */
export const WRITE_RULES: readonly Rule[] = [
  rule({
    id: "production.store_writes",
    title: "Write to a database",
    commands: NAMES,
    when: { ask, answers: ["writes"] },
    match: () => true,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation:
      "The statements write rows, change objects or run procedures of a database in use.",
    safer: "Run the SELECT of the same rows first, and put the change into a reviewed script.",
    hits: [
      "psql -c \"UPDATE users SET plan = 'pro' WHERE id = 5\"",
      "mysql shop -e \"INSERT INTO flags VALUES ('x', 1)\"",
      "psql -c 'CREATE INDEX CONCURRENTLY i ON orders (user_id)'",
      "sqlcmd -S db -Q 'EXEC dbo.purge_old_orders'",
      "psql shop -c \"\\copy users from 'users.csv' csv\"",
      "mysql -e 'KILL 4711'",
      "cypher-shell 'MATCH (n:User) SET n.active = false'",
      "psql -c 'EXPLAIN ANALYZE UPDATE t SET a = 1 WHERE id = 2'",
    ],
    misses: [
      "psql -c \"SELECT 'insert into t' AS note\"",
      "psql shop_test -c \"UPDATE users SET plan = 'pro' WHERE id = 5\"",
      "mysql -e 'SHOW CREATE TABLE orders'",
      "sqlcmd -S db -Q 'EXEC sp_who2'",
      "psql shop -c \"\\copy (select id from users) to 'users.csv' csv\"",
      "sqlite3 :memory: 'create table t (a)'",
      "cypher-shell 'MATCH (n:User) RETURN count(n)'",
      "psql -c 'EXPLAIN UPDATE t SET a = 1 WHERE id = 2'",
      "psql -c 'VACUUM ANALYZE orders'",
    ],
  }),
  rule({
    id: "production.store_unseen",
    title: "Run statements that cannot be seen",
    commands: NAMES,
    when: { ask, answers: ["unseen"] },
    match: () => true,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation:
      "A database runs statements from a file or a program, and the line does not show them.",
    safer: "Read the file first, and send the statements themselves.",
    hits: [
      "psql shop -f fix.sql",
      "mysql shop < restore.sql",
      "zcat dump.sql.gz | mariadb shop",
      "psql shop -c '\\i fix.sql'",
      "alembic upgrade head --sql | psql shop",
      'psql shop -c "$SQL"',
      "sqlplus app/pw@db @fix.sql",
      "heroku pg:psql -a shop < fix.sql",
    ],
    misses: [
      "psql shop_test -f fix.sql",
      'psql "$DATABASE_URL" -f reports/weekly.sql',
      "echo 'select 1' | psql shop",
      'psql shop -c "select * from orders where id = $ID"',
      "sqlite3 dev.db < schema.sql",
      "psql shop",
      "heroku pg:info -a shop",
    ],
  }),
];
