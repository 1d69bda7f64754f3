import type { SimpleCommand } from "../../model.ts";
import { optionValues } from "../../programs/arguments.ts";

/** A tool that a command runs, and the tool's arguments. */
export interface Call {
  readonly tool: string;
  readonly args: readonly string[];
  /** The first word of a line that is typed into a console, in lower case. */
  readonly start?: string;
}

/** Options of launchers whose value is the next word. */
const VALUED = new Set([
  "-C",
  "-F",
  "-X",
  "-W",
  "-d",
  "-r",
  "--cwd",
  "--dir",
  "--filter",
  "--import",
  "--loader",
  "--prefix",
  "--require",
  "--workspace",
]);

/** Words between a launcher and the tool that it runs. */
const LAUNCH_WORDS = new Set(["dlx", "exec", "php", "run", "x"]);

/** Programs whose first operand is the tool or the script to run: `pnpm prisma`, `php artisan`. */
const LAUNCHERS: readonly string[] = [
  "bun",
  "ddev",
  "deno",
  "lando",
  "node",
  "php",
  "pipx",
  ...["7.4", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5"].map((version) => `php${version}`),
  "pnpm",
  "pypy",
  "python",
  "python2",
  "python3",
  ...Array.from({ length: 10 }, (_, minor) => `python3.${minor + 6}`),
  "ruby",
  "sail",
  "spring",
  "symfony",
  "ts-node",
  "tsx",
  "yarn",
];
const LAUNCHES = new Set(LAUNCHERS);

/** Packages whose program has another name. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ["appwrite-cli", "appwrite"],
  ["aws-amplify", "amplify"],
  ["bitwarden", "bw"],
  ["changesets", "changeset"],
  ["eas-cli", "eas"],
  ["expo-cli", "expo"],
  ["firebase-tools", "firebase"],
  ["netlify-cli", "netlify"],
  ["salesforce", "sf"],
  ["sfdx-cli", "sfdx"],
  ["twilio-cli", "twilio"],
]);

/** The programs to index besides the tools themselves. */
export const READ_THROUGH: readonly string[] = [
  ...LAUNCHERS,
  ...PACKAGES.keys(),
  "nc",
  "ncat",
  "netcat",
  "telnet",
  "socat",
  "cli",
];

/** The tools that a command may run: its own program, and the one that it launches by name. */
export function readingsOf(command: SimpleCommand): readonly Call[] {
  const { name, program } = command;
  const args = withoutPlace(command);
  const own = { tool: renamed(name === "cli" ? scopeOf(program) : name), args };
  const launched = LAUNCHES.has(name) ? launchedBy(args) : null;
  const options = CONSOLES.get(name);
  if (options !== undefined) return [own, ...spoken(command, options)];
  return launched === null ? [own] : [own, launched];
}

/** Programs that take commands of their own on standard input, and in these options or in an operand with spaces. */
const CONSOLES: ReadonlyMap<string, readonly string[]> = new Map(
  ("activemq,asterisk -rx -x,bareos-console,bconsole,birdc,cl_cli -c,cli -c,clish -c,cyradm,dgmgrl,dragonfly-cli," +
    "dsmadmc,fastcli -c,fs_cli -x,ftp,gaia_cli -c,hbase,iredis,jboss-cli.sh -c --command --commands,kamcmd,keydb-cli," +
    "lftp -e -c,nc,ncat,netcat,opensips-cli -x,ovirt-shell -E -c,psftp,qmgr -c,radmin -e,redis-cli,runmqsc,sftp," +
    "smbclient -c,socat,supervisorctl,telnet,tmsh -c,valkey-cli,vppctl,wsadmin -c,wsadmin.sh -c,zkcli,zkcli.sh," +
    "zookeeper-shell,zookeeper-shell.sh").split(",").map((line) => {
      const [name = "", ...options] = line.split(" ");
      return [name, options] as const;
    }),
);

/** What also understands the words that are sent with a tool for any server. */
const SERVERS: ReadonlyMap<string, string> = new Map(
  ["nc", "ncat", "netcat", "telnet", "socat"].map((name) => [name, "redis-cli"]),
);

function spoken(command: SimpleCommand, options: readonly string[]): readonly Call[] {
  const { name, args, stdin } = command;
  const texts = [
    stdin?.text ?? "",
    ...(options.length === 0 ? [] : optionValues(command, ...options)),
    ...args.filter((arg) => arg.includes(" ")),
  ];
  const lines = new Set(texts.flatMap((text) => text.split(/[\n\r;]/)));
  const server = SERVERS.get(name);
  const calls: Call[] = [];
  for (const line of lines) {
    const start = START.exec(line)?.[1]?.toLowerCase();
    if (start === undefined) continue;
    calls.push(lineOf(name, start, line));
    if (server !== undefined) calls.push(lineOf(server, start, line));
  }
  return calls;
}

/** The first word; `-` and `@` before it only silence the line. */
const START = /^\s*[-@]?([^\s'"(),]+)/;

/** Few lines begin with a word that matters, so only those are split. */
const lineOf = (tool: string, start: string, line: string): Call => ({
  tool,
  start,
  get args() {
    return line.trim().replace(/^[-@]/, "").split(/[\s'"(),]+/);
  },
});

/** The arguments without a workspace or the name of a site: `yarn workspace api run x`, `wp @prod plugin list`. */
function withoutPlace({ name, args }: SimpleCommand): readonly string[] {
  if (name === "yarn" && args[0] === "workspace") return args.slice(2);
  return SITED.has(name) ? args.filter((arg) => !arg.startsWith("@")) : args;
}

const SITED = new Set(["drush", "wp"]);

const renamed = (name: string): string => PACKAGES.get(name) ?? name;

/** `@railway/cli` is the program `railway`. */
const scopeOf = (program: string): string => program.slice(1, program.indexOf("/")).toLowerCase();

function launchedBy(args: readonly string[]): Call | null {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === "-m") return call(args, at + 1);
    if (VALUED.has(arg)) at++;
    else if (arg === "workspace") at++;
    else if (!arg.startsWith("-") && !LAUNCH_WORDS.has(arg)) return call(args, at);
  }
  return null;
}

function call(args: readonly string[], at: number): Call | null {
  const word = args[at];
  return word === undefined ? null : { tool: renamed(toolOf(word)), args: args.slice(at + 1) };
}

/** `node_modules/typeorm/cli.js`, `npm:prisma@5` and `vendor/bin/phinx` name their tool. */
function toolOf(word: string): string {
  const parts = word.toLowerCase().split("/");
  const modules = parts.lastIndexOf("node_modules");
  const last = modules >= 0 && parts[modules + 1] !== ".bin"
    ? parts[modules + 1] ?? ""
    : parts.at(-1) ?? "";
  const from = last.startsWith("npm:") ? 4 : 0;
  const version = last.indexOf("@", from);
  return last.slice(from, version < 0 ? undefined : version);
}
