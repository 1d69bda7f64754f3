import { mutates } from "../../code/graphql.ts";
import { rememberLast } from "../../code/remember_last.ts";
import { sqlStatements } from "../../code/sql.ts";
import { isUnknown, optionValues } from "../../programs/arguments.ts";
import { CLIENTS } from "../databases/clients.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";

/** `aws` takes many texts that are no SQL. */
const SQL_CLIENTS = [...CLIENTS, "heroku", "mssql-cli", "mysqlsh"].filter((name) => name !== "aws");

/** The first two words of statements that change a server, its accounts or the shape of its tables. */
const SERVER_STATEMENTS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "alter",
    [
      "system",
      "role",
      "user",
      "group",
      "database",
      "schema",
      "table",
      "keyspace",
      "server",
      "login",
      "instance",
      "default",
      "owner",
      "publication",
      "subscription",
      "type",
      "view",
      "materialized",
      "index",
      "sequence",
      "policy",
      "account",
      "warehouse",
      "event",
      "function",
      "procedure",
      "extension",
      "cluster",
      "tablespace",
      "availability",
      "authorization",
      "profile",
      "resource",
      "foreign",
    ],
  ],
  ["vacuum", ["full"]],
  ["create", [
    "policy",
    "trigger",
    "rule",
    "role",
    "user",
    "group",
    "login",
    "profile",
    "server",
    "subscription",
    "publication",
  ]],
  ["grant", []],
  ["revoke", []],
  ["rename", ["table", "user", "database"]],
  ["set", ["global", "persist", "persist_only", "@@global.", "password", "cluster"]],
  ["change", ["master", "replication"]],
  ["stop", ["slave", "replica", "group_replication", "all"]],
  ["start", ["slave", "replica", "group_replication", "all"]],
  ["install", ["plugin", "component"]],
  ["uninstall", ["plugin", "component"]],
  ["flush", ["privileges", "tables", "hosts"]],
  ["lock", ["instance", "tables"]],
  ["reassign", ["owned"]],
  ["reconfigure", []],
  ["sp_configure", []],
  ["exec", ["sp_configure", "sp_addrolemember", "sp_addsrvrolemember", "sp_rename"]],
  ["execute", ["sp_configure", "sp_addrolemember", "sp_addsrvrolemember", "sp_rename"]],
  ["\\password", []],
]);

/** Functions that a query may call to the same end. */
const SERVER_CALLS = new Set([
  "pg_reload_conf",
  "pg_promote",
  "pg_rotate_logfile",
  "pg_drop_replication_slot",
  "pg_switch_wal",
]);

function changesServer(command: SimpleCommand): boolean {
  if (runsMigration(command)) return true;
  const texts = [
    ...optionValues(command, "-c", "-e", "-q", "-Q"),
    ...command.args,
    command.stdin?.text ?? "",
  ];
  return texts.some(saysServerChange);
}

const saysServerChange = rememberLast((text) =>
  LIKELY.test(text) && sqlStatements(ofOption(text)).some(isServerChange)
);

/** Whether it runs a file of migrations, on a database that is not named for tests. */
function runsMigration(command: SimpleCommand): boolean {
  const files = [
    ...optionValues(command, "-f", "--file", "-i", "--input-file"),
    ...command.redirections.flatMap(({ operator, target }) => operator === "<" ? [target] : []),
  ];
  return files.some((file) => file.toLowerCase().includes("migrat")) &&
    !command.args.some((arg) => arg.toLowerCase().includes("test"));
}

/** A quick look, before the statements are read. */
const LIKELY = new RegExp(
  "alter|grant|vacuum|policy|trigger|rule|create\\s+or|revoke|rename|role|" +
    "user|group|login|profile|server|scription|publication|global|persist|" +
    "password|cluster|master|replica|slave|plugin|component|privileges|tables|hosts|owned|instance|" +
    "reconfigure|sp_|pg_",
  "i",
);

const ofOption = (text: string): string =>
  text.startsWith("-") && text.includes("=") ? text.slice(text.indexOf("=") + 1) : text;

function isServerChange(words: readonly string[]): boolean {
  const [first = "", ...rest] = words;
  if (words.some((word) => SERVER_CALLS.has(word))) return true;
  const seconds = SERVER_STATEMENTS.get(first);
  if (seconds === undefined) return false;
  if (seconds.length === 0) return rest.length > 0 || first === "reconfigure";
  const [second = ""] = rest;
  if (first === "create" && second === "or") return true;
  if (first === "create" && rest.includes("temporary")) return false;
  return seconds.some((one) => one === second || (one.endsWith(".") && second.startsWith(one)));
}

/** Statements and calls that administer a replica set, a cluster or its accounts. */
const MONGO_CALLS = [
  "rs.add",
  "rs.remove",
  "rs.stepdown",
  "rs.reconfig",
  "rs.initiate",
  "rs.freeze",
  "rs.syncfrom",
  "sh.add",
  "sh.remove",
  "sh.enable",
  "sh.disable",
  "sh.shardcollection",
  "sh.reshardcollection",
  "sh.movechunk",
  "sh.moveprimary",
  "sh.moverange",
  "sh.splitat",
  "sh.splitfind",
  "sh.startbalancer",
  "sh.stopbalancer",
  "sh.setbalancerstate",
  "sh.updatezonekeyrange",
  "createuser",
  "updateuser",
  "changeuserpassword",
  "createrole",
  "updaterole",
  "grantroles",
  "grantprivileges",
  "revokeroles",
  "revokeprivileges",
  "setparameter",
  "setfeaturecompatibilityversion",
  "setdefaultrwconcern",
  "setprofilinglevel",
  "setloglevel",
  "fsynclock",
  "fsyncunlock",
  "killop",
  "renamecollection",
  "converttocapped",
  "collmod",
  "replsetreconfig",
  "replsetstepdown",
  "replsetinitiate",
  "rotatecertificates",
  "compact:",
];

function administersMongo({ args, stdin }: SimpleCommand): boolean {
  const text = [...args, stdin?.text ?? ""].join(" ").toLowerCase();
  return MONGO_CALLS.some((call) => text.includes(call));
}

/** What people file every day: it changes no setting of a repository. */
const EVERYDAY_PATHS = [
  "/comments",
  "/reactions",
  "/labels",
  "/issues",
  "/notes",
  "/assignees",
  "/requested_reviewers",
  "/reviews",
  "/pulls",
  "/merge_requests",
  "/markdown",
];

const READS = new Set(["GET", "HEAD"]);

/** Whether `gh api` or `glab api` changes something: with fields, the method is POST unless it is named. */
function changesByApi(command: SimpleCommand): boolean {
  const { args } = command;
  if (args[0] !== "api" || args.includes("--help")) return false;
  const methods = optionValues(command, "-X", "--method").map((method) => method.toUpperCase());
  const fields = optionValues(command, "-f", "-F", "--field", "--raw-field", "--form", "--input");
  const path = args.slice(1).find((arg) => !arg.startsWith("-") && isPath(arg, methods, fields)) ??
    "";
  if (path === "graphql" || path.endsWith("/graphql")) {
    return fields.some((field) => mutates(field) || isUnknown(field));
  }
  const writes = methods.length > 0
    ? methods.some((method) => !READS.has(method))
    : fields.length > 0;
  const bare = path.split("?", 1)[0]!;
  return writes &&
    (methods.includes("DELETE") || !EVERYDAY_PATHS.some((one) => bare.endsWith(one)));
}

const isPath = (arg: string, methods: readonly string[], fields: readonly string[]): boolean =>
  !fields.includes(arg) && !methods.includes(arg.toUpperCase());

/** Changes that stand in a text or a request, and not in the words of a command. */
export const STATEMENT_RULES: readonly Rule[] = [
  rule({
    id: "production.store_sql",
    title: "Change accounts, tables or settings with SQL",
    commands: SQL_CLIENTS,
    match: changesServer,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "The SQL changes the accounts, the settings or the tables of a running database.",
    safer: "Put it into a reviewed migration, and try it on a copy.",
    hits: [
      "psql -c 'CREATE ROLE app LOGIN'",
      "psql -c 'ALTER TABLE orders ADD COLUMN note text'",
      "mysql -e 'SET GLOBAL max_connections = 500'",
      "psql shop -f migrations/0042_add_note.sql",
    ],
    misses: [
      "psql -c 'SELECT * FROM pg_roles'",
      "psql -c \"SELECT 'alter table x'\"",
      "mysql -e 'SHOW GRANTS FOR app'",
      "psql -c 'SET statement_timeout = 1000'",
      "psql -f migrations/0042_add_note.sql shop_test",
    ],
  }),
  rule({
    id: "production.store_mongo",
    title: "Administer a MongoDB cluster",
    commands: ["mongosh", "mongo"],
    match: administersMongo,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It changes the members, the accounts or the settings of a MongoDB cluster.",
    safer: "Show rs.status() and the present accounts first.",
    hits: [
      "mongosh --eval 'rs.stepDown()'",
      `mongosh --eval 'db.createUser({user:"a",pwd:"b",roles:["root"]})'`,
      "echo 'rs.add(\"db4:27017\")' | mongosh",
    ],
    misses: [
      "mongosh --eval 'rs.status()'",
      "mongosh --eval 'db.getUsers()'",
      "mongosh --eval 'sh.status()'",
    ],
  }),
  rule({
    id: "production.repository_api",
    title: "Change a repository through its API",
    commands: ["gh", "glab"],
    match: changesByApi,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It changes a repository, its settings or its pipelines through the API.",
    safer: "Read the same address without a method first.",
    hits: [
      "gh api -X PATCH repos/acme/app -f private=false",
      "gh api repos/acme/app/dispatches -f event_type=deploy",
      "glab api --method=PUT projects/1 -F visibility=public",
    ],
    misses: [
      "gh api repos/acme/app",
      "gh api graphql -f query='query { viewer { login } }'",
      "gh api repos/acme/app/issues/1/comments -f body=hi",
      "gh api -X GET search/code -f q=x",
    ],
  }),
];
