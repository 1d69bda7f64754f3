import { scanSql } from "../../code/sql.ts";
import { readSql } from "../../code/sql_writes.ts";
import { optionValues } from "../../programs/arguments.ts";
import { type CodeScan, once, type Rule, rule, type SimpleCommand, UNKNOWN } from "../rule.ts";
import { isForTests } from "../production/calls.ts";
import { NAMED_AS_READING } from "./scratch.ts";
import { readingsOf } from "../production/readings.ts";

/** A console of an application: it runs code with the application's models and its database. */
interface Console {
  readonly tools: readonly string[];
  /** The subcommands that start it. */
  readonly verbs: readonly string[];
  /** Options whose value is code. */
  readonly inline: readonly string[];
  /** Whether its operand is code, or a file of code. */
  readonly takesOperand: boolean;
}

const CONSOLES: readonly Console[] = [
  { tools: ["rails", "gitlab-rails"], verbs: ["runner", "r"], inline: [], takesOperand: true },
  {
    tools: ["rails", "hanami", "padrino"],
    verbs: ["console", "c"],
    inline: [],
    takesOperand: false,
  },
  {
    tools: ["manage.py", "django-admin", "flask", "superset", "odoo", "odoo-bin", "ckan", "pshell"],
    verbs: ["shell", "shell_plus"],
    inline: ["-c", "--command"],
    takesOperand: false,
  },
  { tools: ["manage.py", "django-admin"], verbs: ["runscript"], inline: [], takesOperand: true },
  { tools: ["artisan"], verbs: ["tinker"], inline: ["--execute"], takesOperand: true },
  { tools: ["mix"], verbs: ["run"], inline: ["-e", "--eval"], takesOperand: true },
  {
    tools: ["drush"],
    verbs: [
      "php:eval",
      "php-eval",
      "eval",
      "ev",
      "php:script",
      "php-script",
      "scr",
      "php:cli",
      "core:cli",
    ],
    inline: [],
    takesOperand: true,
  },
  { tools: ["wp"], verbs: ["eval", "eval-file", "shell"], inline: [], takesOperand: true },
  { tools: ["sequel"], verbs: [], inline: ["-c"], takesOperand: false },
  { tools: ["iex"], verbs: [], inline: ["-e", "--eval"], takesOperand: false },
  {
    tools: ["console", "cake", "spark", "n98-magerun", "n98-magerun2"],
    verbs: ["psysh", "dev:console", "shell"],
    inline: ["-c"],
    takesOperand: true,
  },
  {
    tools: ["tsx", "ts-node", "medusa", "strapi", "ace", "redwood", "rw"],
    verbs: ["console", "exec", "repl"],
    inline: [],
    takesOperand: true,
  },
];

/** Methods of models, queries, caches and queues that change what they hold. */
const WRITES =
  /(?:\.|->|::)(?:delete(?:_all|many|one|all|_by)?|destroy(?:_all|_by)?|force_?delete|really_destroy|truncate\w*|update(?:_all|_columns?|_attributes?|many|one|orcreate|_or_create|orinsert)?|save(?:many|quietly)?|create(?:_many|many|_user|_superuser|quietly|_with)?|bulk_?(?:create|update|insert|write)|insert(?:_all|many|one|getid|orignore)?|upsert(?:_all)?|(?:find|first|get|create|update)_?or_?(?:create|find|new|insert)\w*|touch(?:_all)?|increment|decrement|toggle|set_password|perform_\w+|deliver_\w+|delay|apply_async|clear|flush(?:db|all)?|forget|unprepared|executeraw\w*|call_command|(?:de|at)tach|sync(?:withoutdetaching)?|drop\w*|migrate|retry_all|remove_column|add_column|rename_column|create_table|dispatch(?:now|sync)?|enqueue|revoke\w*|grant\w*|add_role|remove_role|assignrole|syncroles|ban|suspend|activate|deactivate|enable|disable|reset_\w+|restore|archive|purge\w*|send_\w+)[!?]?(?=[\s(;})\]]|$)/i;
const FUNCTIONS =
  /(?:^|[^.\w])(?:call_command|dispatch|artisan::call|wp_(?:delete|update|insert|set|create)\w*|update_option|delete_option|add_option|update_user_meta|node_delete\w*|user_save|variable_set|exec|system|cache_clear_all)\s*\(/i;
/** A string that is not closed ends with its line, so that the time stays linear. */
const STRINGS = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?/g;
const RUNS_SQL =
  /execute|statement|select_all|exec_query|exec_update|raw|query|prepare|\brun\b|unprepared/i;

function writesByCode(code: string): boolean {
  const bare = code.replace(STRINGS, "''");
  if (WRITES.test(bare) || FUNCTIONS.test(bare)) return true;
  return RUNS_SQL.test(bare) &&
    (code.match(STRINGS) ?? []).some((text) => writesSql(text.slice(1, -1)));
}

const writesSql = (text: string): boolean =>
  text.includes(" ") && (scanSql(text) !== "none" || readSql(text).writes);

type Effect = "writes" | "unseen" | "";

function effectOf(command: SimpleCommand): Effect {
  if (isForTests(command.assignments)) return "";
  let worst: Effect = "";
  for (const { tool, args } of once(command, readingsOf)) {
    for (const one of CONSOLES) {
      if (!one.tools.includes(tool)) continue;
      const effect = effectIn(one, args, command);
      if (effect === "writes") return effect;
      worst ||= effect;
    }
  }
  return worst;
}

function effectIn(
  { verbs, inline, takesOperand }: Console,
  args: readonly string[],
  command: SimpleCommand,
): Effect {
  const at = args.findIndex((arg) => verbs.includes(arg));
  if ((verbs.length > 0 && at < 0) || args.includes("--help") || isTestStage(args)) return "";
  const rest = args.slice(at + 1);
  const given = inline.length === 0 ? [] : optionValues(command, ...inline);
  const said = takesOperand
    ? rest.filter((arg, i) => !arg.startsWith("-") && !isValue(rest[i - 1]))
    : [];
  const { stdin } = command;
  const codes = [...given, ...said, stdin?.text ?? ""];
  if (codes.some(writesByCode)) return "writes";
  const readsInput = given.length === 0 && (said.length === 0 || said[0] === "-");
  return said.slice(0, 1).some(isScript) || codes.some((code) => code.startsWith(UNKNOWN)) ||
      (readsInput && stdin !== null && stdin.text === null)
    ? "unseen"
    : "";
}

const isValue = (before = ""): boolean =>
  ["-e", "--environment", "-r", "--env", "--settings"].includes(before);

const isTestStage = (args: readonly string[]): boolean =>
  args.some((arg, at) =>
    ["--environment=test", "--env=testing", "--env=test"].includes(arg) ||
    (arg === "test" && ["-e", "--environment"].includes(args[at - 1] ?? ""))
  );

/** A file of code, unless it is named for what it reads. */
const isScript = (word: string): boolean =>
  /^[\w./~-]+\.(?:rb|py|php|exs?|js|ts)$/.test(word) &&
  !NAMED_AS_READING.test(word);

const ask = (command: SimpleCommand): Effect => once(command, effectOf);

/** Libraries for databases, by the names that code uses for them. */
const LIBRARIES = new Set([
  "prismaclient",
  "@prisma/client",
  "mongoose",
  "mongodb",
  "mongoclient",
  "pymongo",
  "sequelize",
  "typeorm",
  "knex",
  "drizzle-orm",
  "pg",
  "mysql",
  "mysql2",
  "better-sqlite3",
  "psycopg2",
  "psycopg",
  "pymysql",
  "mysqldb",
  "mysql.connector",
  "sqlalchemy",
  "django",
  "django.setup",
  "peewee",
  "redis",
  "ioredis",
  "pdo",
  "mysqli",
  "active_record",
  "activerecord",
  "./config/environment",
  "config/environment",
  "mongo",
  "dbi",
  "elasticsearch",
  "cassandra.cluster",
  "asyncpg",
  "cx_oracle",
  "oracledb",
  "pyodbc",
  "postgres",
]);
const CODE_WRITES =
  /^(?:\$?executeraw\w*|deletemany|updatemany|createmany|insertmany|insert_many|insert_one|insertone|update_one|update_many|updateone|replace_one|replaceone|delete_one|deleteone|delete_many|bulk_write|bulkwrite|bulkcreate|bulk_create|bulk_update|findoneand\w+|findbyidand\w+|find_one_and_\w+|upsert|destroy|destroy_all|delete_all|update_all|insert_all|truncate|flushall|flushdb|drop|drop_all|create_all|save|save!|update|update!|create|create!|delete|del|remove|hset|sadd|lpush|rpush|setex|expire)$/;

const usesLibrary = ({ names, strings }: CodeScan): boolean =>
  strings.some((text) => LIBRARIES.has(text.toLowerCase())) ||
  names.values().some((name) => LIBRARIES.has(name));

/** Changes by the console of an application, or by code that uses the library of a database. */
export const CONSOLE_RULES: readonly Rule[] = [
  rule({
    id: "production.application_code",
    title: "Change data with an application's code",
    commands: [
      ...new Set(CONSOLES.flatMap(({ tools }) => tools)),
      "python",
      "python3",
      "php",
      "bun",
      "pnpm",
      "yarn",
      "docker",
      "podman",
    ],
    when: { ask, answers: ["writes"] },
    match: () => true,
    matchCode: (scan) =>
      usesLibrary(scan) &&
      (scan.names.values().some((name) => CODE_WRITES.test(name)) || scan.strings.some(writesSql)),
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "The code changes the data of an application in use.",
    safer: "Count what it would touch first, and put the change into a reviewed task.",
    hits: [
      "bin/rails runner 'User.where(confirmed_at: nil).delete_all'",
      "echo 'User.first.update!(admin: true)' | rails console",
      "python manage.py shell -c 'from a.models import B; B.objects.all().delete()'",
      "php artisan tinker --execute='User::query()->update([\"x\" => 1])'",
      "node -e 'const {PrismaClient}=require(\"@prisma/client\"); new PrismaClient().user.deleteMany()'",
      'python3 -c \'import psycopg2; psycopg2.connect("x").cursor().execute("UPDATE t SET a=1 WHERE b=2")\'',
    ],
    misses: [
      "bin/rails runner 'puts Order.where(state: \"failed\").count'",
      "RAILS_ENV=test bin/rails runner 'User.delete_all'",
      "python manage.py shell -c 'from a.models import B; print(B.objects.count())'",
      "php artisan tinker --execute='echo User::count();'",
      "node -e 'const {PrismaClient}=require(\"@prisma/client\"); new PrismaClient().user.count()'",
      "python3 -c 'import psycopg2; print(psycopg2.__version__)'",
    ],
  }),
  rule({
    id: "production.application_script",
    title: "Run a script with an application's data",
    commands: [
      ...new Set(CONSOLES.flatMap(({ tools }) => tools)),
      "python",
      "python3",
      "php",
      "docker",
      "podman",
    ],
    when: { ask, answers: ["unseen"] },
    match: () => true,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation:
      "The application runs a script, and the line does not show what it does to the data.",
    safer: "Read the script first, and send its statements.",
    hits: [
      "bin/rails runner scripts/backfill.rb",
      "python manage.py shell < fix.py",
      "mix run priv/fix.exs",
      'rails runner "$CODE"',
    ],
    misses: [
      "bin/rails console",
      "bin/rails runner scripts/weekly_report.rb",
      "mix run --no-halt",
      "flask shell",
    ],
  }),
];
