import { rememberLast } from "../../code/remember_last.ts";
import { sqlStatements } from "../../code/sql.ts";
import { hasFlag, operands, optionValues, wordsOf } from "../../programs/arguments.ts";
import { classifyPath, locate } from "../../programs/paths.ts";
import { READERS } from "../../programs/output.ts";
import { isEveryday, isSecret } from "../../programs/secrets.ts";
import { CLIENTS } from "../databases/clients.ts";
import { once, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { asksForCredential, searchesDrive, WINDOWS_SEARCHERS } from "./windows_searches.ts";

/** Tables and fields in which databases keep the passwords of their accounts. */
const ACCOUNT_STORES = [
  "pg_authid",
  "pg_shadow",
  "pg_user_mapping",
  "authentication_string",
  "mysql.global_priv",
  "sql_logins",
  "syslogins",
  "sys.user$",
  "dba_db_links",
  "show create user",
  "system.users",
  "system_auth.roles",
  "showcredentials",
];

/** Columns in which applications keep passwords and keys. */
const COLUMNS = new Set(
  [
    "password passwd pwd password_hash passwordhash password_digest encrypted_password hashed_password pass_hash pw_hash",
    "crypted_password secret secret_key secret_token client_secret api_key apikey api_token api_secret access_token",
    "refresh_token auth_token session_token private_key otp_secret totp_secret rolpassword salted_hash user_pass umoptions",
  ].flatMap((line) => line.split(" ")),
);

/** What each of these names holds; a quick test before the statements are read. */
const STEMS = [
  "pass",
  "pwd",
  "pw_hash",
  "secret",
  "token",
  "_key",
  "apikey",
  "umoptions",
  "mysql.user",
];

/** A column in these calls or tests is counted, measured or compared, and not shown. */
const MEASURES = new Set(["count", "length", "char_length", "octet_length", "as", "max", "min"]);
const TESTS = new Set(["is", "=", "<>", "!="]);

function readsAccounts(command: SimpleCommand): boolean {
  return [...command.args, command.stdin?.text ?? ""].some(asksForAccounts);
}

const asksForAccounts = rememberLast((text) => {
  const lower = text.toLowerCase();
  if (ACCOUNT_STORES.some((store) => lower.includes(store)) && QUERIES.test(lower)) return true;
  return lower.includes("select") && STEMS.some((stem) => lower.includes(stem)) &&
    sqlStatements(lower).some(showsColumn);
});

const QUERIES = /select|copy|table |find|aggregate|getuser|usersinfo|show create/;

/** Whether a statement selects such a column, or everything of the table of accounts. */
function showsColumn(words: readonly string[]): boolean {
  const from = words.indexOf("select");
  if (from < 0) return false;
  const to = words.indexOf("from", from);
  const selected = words.slice(from + 1, to < 0 ? undefined : to);
  if (
    (words[to + 1] ?? "").startsWith("mysql.user") && selected.some((word) => word.endsWith("*"))
  ) return true;
  return selected.some((word, at) =>
    COLUMNS.has(word.slice(word.lastIndexOf(".") + 1)) && !MEASURES.has(selected[at - 1] ?? "") &&
    !TESTS.has(selected[at + 1] ?? "")
  );
}

const REDIS = ["redis-cli", "valkey-cli", "keydb-cli"];
const REDIS_VALUED = new Set(["-h", "-p", "-a", "-n", "-u", "-s", "--user", "--pass", "-i", "-r"]);

/** `CONFIG GET requirepass`, `ACL LIST`: passwords, or their hashes. */
function readsRedisAccounts(command: SimpleCommand): boolean {
  const [first, second, third = ""] = operands(command, REDIS_VALUED)
    .map((word) => word.toLowerCase());
  if (first === "acl") return second === "list" || second === "getuser";
  return first === "config" && second === "get" &&
    (third === "*" || third.includes("pass") || third.includes("auth"));
}

/** Programs that fill the variables of what they run from a store of secrets. */
const GIVERS = new Set(
  "heroku railway fly flyctl doppler op infisical chamber aws-vault envchain sops teller cf eb dokku phase dotenvx esc"
    .split(" "),
);

const NAMES =
  /(?:^|_)(?:PASS|PASSWD|PASSWORD|PW|PWD|SECRET|TOKEN|APIKEY|CREDENTIALS?|PASSPHRASE)(?:_|$)|(?:API|ACCESS|PRIVATE|SECRET|ENCRYPTION|SIGNING|MASTER|SERVICE|STRIPE|DEPLOY)_KEY/;

const ENV_VALUED = new Set(["-a", "--app", "-r", "--remote", "-u", "--unset", "-C", "--chdir"]);

/** Whether the variables of an application are printed, or one with a credential. */
function printsVariables(command: SimpleCommand): boolean {
  const { wrappers } = command;
  const words = operands(command, ENV_VALUED);
  if (words.length === 0) return wrappers.some((one) => GIVERS.has(one));
  return words.some((word) => word !== "PWD" && word !== "OLDPWD" && NAMES.test(word));
}

const SEARCHERS = ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"];
/** Whether a search looks for the word "password" and the like, over folders that are no project of one's own. */
function searchesPasswords(command: SimpleCommand): boolean {
  const [first = "", ...paths] = operands(command, SEARCH_VALUED);
  const given = optionValues(command, "-e", "--regexp");
  const patterns = given.length > 0 ? given : [first];
  if (!patterns.some(asksForCredential)) return false;
  if (paths.length === 0 && given.length === 0) return command.stdin?.secret ?? false;
  const places = given.length > 0 ? [first, ...paths] : paths;
  const descends = !["grep", "egrep", "fgrep", "zgrep"].includes(command.name) ||
    hasFlag(command, "rR", "recursive") || command.wrappers.includes("find") ||
    command.wrappers.includes("xargs") || places.length > 2;
  return descends && places.some((path) => isForeign(command, path));
}

const SEARCH_VALUED = new Set([
  "-A",
  "-B",
  "-C",
  "-m",
  "-e",
  "-g",
  "-t",
  "-T",
  "--glob",
  "--type",
  "--max-depth",
  "--regexp",
]);

function isForeign(command: SimpleCommand, path: string): boolean {
  const kind = classifyPath(locate(command.cwd, path));
  return kind === "root" || kind === "system" || kind === "system_part" || kind === "home";
}

/** A file of settings of a service, or of production: `/srv/shop/.env`, `.env.production`. */
const isOfService = (path: string): boolean =>
  path.startsWith("/")
    ? !path.startsWith("/tmp/") && (isSecret(path) && isEveryday(path) || CONFIGURED.test(path))
    : path === "~/.npmrc" || path.includes(".env.") && PRODUCTION.test(path);

const PRODUCTION = /(?:^|\/)\.env\.(?:prod|live)[^/]*$/;
/** Files in which applications keep the password of their database. */
const CONFIGURED =
  /\/(?:wp-config|localsettings)\.php$|\/config\/database\.yml$|\/app\/etc\/env\.php$|\/appsettings\.prod\w*\.json$/i;

const readsService = ({ args, redirections }: SimpleCommand): boolean =>
  args.some(isOfService) ||
  redirections.some(({ operator, target }) => operator === "<" && isOfService(target));

/** The files that a module of a fleet's tool takes from the machines: `src=/etc/shadow`. */
const fetchesSecret = (command: SimpleCommand): boolean =>
  [...optionValues(command, "-a", "--args"), ...wordsOf(command)].some((text) =>
    text.split(/\s+/).some((part) => {
      const path = part.slice(part.indexOf("=") + 1);
      return path.startsWith("/") && isSecret(path);
    })
  );

/** Passwords of accounts, variables of applications, and searches for them. */
export const ACCOUNT_RULES: readonly Rule[] = [
  rule({
    id: "credentials.accounts_read",
    title: "Read passwords or keys out of a database",
    commands: [...CLIENTS, "mongosh", "mongo", ...REDIS],
    match: (command) =>
      REDIS.includes(command.name) ? readsRedisAccounts(command) : once(command, readsAccounts),
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It reads passwords, their hashes or keys of accounts out of a database.",
    safer: "Select the names only.",
    hits: [
      "psql -U postgres -Atc 'select rolname, rolpassword from pg_authid'",
      "mysql -uroot -e 'select user, host, authentication_string from mysql.user'",
      "sqlcmd -Q 'SELECT name, password_hash FROM sys.sql_logins'",
      "mongosh admin --eval 'db.system.users.find().toArray()'",
      "psql shop -c 'select email, password_digest from users'",
      "redis-cli CONFIG GET requirepass",
    ],
    misses: [
      "psql -c 'select rolname from pg_roles'",
      "mysql -e 'select user, host from mysql.user'",
      "psql shop -c 'select count(*) from users where password_digest is null'",
      "mongosh admin --eval 'db.getUsers()'",
      "redis-cli CONFIG GET maxmemory",
    ],
  }),
  rule({
    id: "credentials.variables_shown",
    title: "Print variables that hold credentials",
    commands: ["env", "printenv"],
    match: printsVariables,
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It prints the variables of an application, or one that holds a credential.",
    safer: "Print the names only: env | cut -d= -f1.",
    hits: [
      "doppler run -- env",
      "op run --env-file .env -- printenv",
      "printenv STRIPE_SECRET_KEY",
      "sops exec-env secrets.yaml printenv",
    ],
    misses: [
      "printenv PATH",
      "env FOO=1 make",
      "kubectl exec web-0 -- printenv HOSTNAME",
      "env -0",
    ],
  }),
  rule({
    id: "credentials.search_passwords",
    title: "Search folders of the system or of people for passwords",
    commands: [...SEARCHERS, ...WINDOWS_SEARCHERS],
    match: (command) =>
      WINDOWS_SEARCHERS.includes(command.name)
        ? searchesDrive(command)
        : searchesPasswords(command),
    evenRehearsed: true,
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It searches the settings of the system or of people for passwords and keys.",
    safer: "Search the one file, or list file names only in your own project.",
    hits: [
      "grep -ri passw /etc",
      "grep -rnE 'password|secret' /home --include='*.conf'",
      "find /etc /opt -name '*.conf' -exec grep -HniE 'passw|secret' {} +",
      "rg -i api_key /root",
      "env | grep -i secret",
      "helm get values checkout -n shop --all -o yaml | grep -i password",
      "docker inspect web | grep -i password",
      "findstr /si password C:\\Users\\*.config C:\\Users\\*.xml",
      "Select-String -Path C:\\Users\\*\\*.txt -Pattern password",
      "Get-ChildItem C:\\ -Recurse -Include *.config | Select-String password",
      "reg query HKLM /f password /t REG_SZ /s",
      "dir /s /b C:\\*pass*.txt",
    ],
    misses: [
      "grep -rn password src/",
      "grep PasswordAuthentication /etc/ssh/sshd_config",
      "grep -r 'Failed password' /var/log",
      "rg -i token docs",
      "grep -c password notes.txt",
      "helm get values checkout | grep replicas",
      "findstr /n NEXT *.cs",
      "Select-String -Path .\\src\\*.cs -Pattern password",
      "Get-ChildItem C:\\logs -Recurse | Select-String error",
      "reg query HKLM\\SOFTWARE /s",
    ],
  }),
  rule({
    id: "credentials.read_service",
    title: "Read the settings of a service with their passwords",
    commands: READERS,
    match: readsService,
    evenRehearsed: true,
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It reads the settings of a service, or of production, with their passwords.",
    safer: "Read the one value that you need, or the example file.",
    hits: [
      "cat /srv/shop/.env",
      "grep DB_ /var/www/shop/.env",
      "head -50 .env.production",
      "cat /var/www/html/wp-config.php",
      "less /home/anna/.bash_history",
      "cat ~/.npmrc",
    ],
    misses: ["cat .env.example", "cat /srv/shop/.env.example", "ls -la /srv/shop/.env"],
  }),
  rule({
    id: "credentials.fetch_secret",
    title: "Fetch keys or password hashes from machines of a fleet",
    commands: ["ansible", "salt", "salt-call", "salt-ssh"],
    match: fetchesSecret,
    weight: [4, 3],
    threat: "credential_access",
    explanation: "It fetches keys, tokens or password hashes from the machines of a fleet.",
    safer: "Ask for the one value through your secret store.",
    hits: [
      "ansible all -b -m fetch -a 'src=/etc/shadow dest=./loot/'",
      "ansible db -b -m slurp -a src=/root/.ssh/id_rsa",
      "salt '*' cp.push /etc/shadow",
    ],
    misses: [
      "ansible all -m fetch -a 'src=/var/log/app.log dest=logs/'",
      "ansible all -m ping",
      "salt '*' test.ping",
    ],
  }),
];
