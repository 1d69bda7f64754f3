import type { SimpleCommand } from "../../model.ts";

/** A tool that a command runs, and the tool's arguments. */
export interface Call {
  readonly tool: string;
  readonly args: readonly string[];
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
  "cli",
];

/** The tools that a command may run: its own program, and the one that it launches by name. */
export function readingsOf(command: SimpleCommand): readonly Call[] {
  const { name, program } = command;
  const args = withoutPlace(command);
  const own = { tool: renamed(name === "cli" ? scopeOf(program) : name), args };
  const launched = LAUNCHES.has(name) ? launchedBy(args) : null;
  if (SPOKEN_TO.has(name)) return [own, ...spoken(command)];
  return launched === null ? [own] : [own, launched];
}

/** Clients that take their commands on standard input, too. */
const SPOKEN_TO = new Set([
  "dragonfly-cli",
  "keydb-cli",
  "redis-cli",
  "supervisorctl",
  "valkey-cli",
]);

const spoken = ({ name, stdin }: SimpleCommand): readonly Call[] =>
  (stdin?.text ?? "").split("\n").map((line) => ({ tool: name, args: line.trim().split(/\s+/) }));

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
