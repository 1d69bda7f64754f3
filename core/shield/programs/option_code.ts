import { clusterValues, hasFlag, operands, optionValues } from "./arguments.ts";
import type { SimpleCommand } from "../model.ts";
import { quoteWord, type ReadFile } from "../interpreter/inner.ts";
import { debuggerTexts } from "../code/unwrap_code.ts";

/** Options of ordinary programs whose value is a command line. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "vagrant toolbox chokidar": "-c --command",
    "gcloud doppler az": "--command --scripts",
    "fly flyctl": "-C --command",
    "ansible": "-a --args",
    "npx": "-c --call",
    "go": "-toolexec -exec -vettool",
    "cpio": "--rsh-command",
    "man": "-P --pager -H --html",
    "zip": "-TT --unzip-command",
    "ncat": "-c --sh-exec -e --exec",
    "split gsplit": "--filter",
    "sort gsort": "--compress-program",
    "rg": "--pre --hostname-bin",
    "nodemon": "-x --exec",
    "rsync": "-e --rsh --rsync-path",
  }).flatMap(([names, options]) =>
    names.split(" ").map((name) => [name, options.split(" ")] as const)
  ),
);

/** The command lines in the options of ordinary programs; null for programs that have none. */
export function shellOptions(command: SimpleCommand, readFile: ReadFile): string[] | null {
  const options = OPTIONS.get(command.name);
  if (options !== undefined) return optionValues(command, ...options);
  switch (command.name) {
    case "flock":
    case "script":
    case "unbuffer":
      return [...optionValues(command, "-c", "--command"), ...clusterValues(command, "c")];
    case "systemd-run":
      return optionValues(command, "-p", "--property").flatMap((value) =>
        value.startsWith("Exec") ? [afterFirst(value, "=").replace(/^[-@:+!]+/, "")] : []
      );
    case "cmake":
      return [
        afterOption(command, "-E")
          .replace(/^'?remove_directory'?/, "rm -r").replace(/^'?remove'?(?= )/, "rm"),
      ];
    case "psql":
    case "mysql":
    case "mariadb":
    case "sqlite3":
    case "cqlsh":
    case "duckdb":
      return [
        ...optionValues(command, "--pager"),
        ...[
          ...optionValues(command, "-c", "-e"),
          ...command.args,
          ...(command.stdin?.text ?? "").split("\n"),
          ...optionValues(command, "-f", "--file", "-init").flatMap((path) =>
            (readFile(path)?.text ?? "").split("\n")
          ),
        ].flatMap(sqlEscape),
      ];
    case "hyperfine":
      return [
        ...operands(command, HYPERFINE_VALUED),
        ...optionValues(command, "-p", "--prepare", "-c", "--cleanup", "-s", "--setup"),
      ];
    case "entr":
      return hasFlag(command, "s") ? [operands(command).join(" ")] : [];
    case "less":
    case "more":
    case "most":
    case "ftp":
    case "ed":
    case "ex":
    case "dc":
      return bangLines(command);
    case "lftp":
      return [...bangLines(command), ...optionValues(command, "-c", "-e").flatMap(bang)];
    case "gdb":
    case "lldb":
      return [
        ...debuggerTexts(command),
        ...(command.stdin?.text ?? "").split("\n"),
      ].flatMap((text) => DEBUGGER_SHELL.exec(text)?.[1] ?? [])
        .concat(afterOption(command, "--args"));
    case "concurrently":
      return [...operands(command)];
    case "just":
      return [afterOption(command, "--command", "-c")];
    case "gcc":
    case "g++":
    case "cc":
    case "c++":
      return optionValues(command, "-wrapper").map((value) => value.replaceAll(",", " "));
    case "apt":
    case "apt-get":
    case "aptitude":
      return optionValues(command, "-o", "--option").flatMap((value) =>
        APT_PROGRAMS.test(value) ? [afterFirst(value, "=")] : []
      );
    case "npm":
    case "pnpm":
    case "yarn":
      return [
        ...optionValues(command, "-c", "--call", "--script-shell"),
        // `npm pkg set scripts.build=text`
        ...command.args.flatMap((arg) => arg.startsWith("scripts.") ? [afterFirst(arg, "=")] : []),
      ];
    case "git":
      return gitCommands(command);
    case "tar":
    case "gtar":
    case "bsdtar":
      return [
        ...optionValues(command, "--checkpoint-action").map((value) =>
          value.startsWith("exec=") ? value.slice(5) : ""
        ),
        ...optionValues(
          command,
          "--to-command",
          "--use-compress-program",
          "-I",
          "--info-script",
          "--new-volume-script",
          "-F",
          "--rsh-command",
          "--rmt-command",
        ),
      ];
    case "make":
    case "gmake":
      return [
        ...command.args.flatMap(makeVariable),
        ...optionValues(command, "--eval", "-E"),
        ...optionValues(command, "-f", "--file").flatMap((path) =>
          ((path === "-" ? command.stdin : readFile(path))?.text ?? "").split("\n")
        ),
      ].map((line) => line.slice(line.indexOf(":") + 1).replaceAll(";", "\n"));
    case "ssh":
    case "scp":
    case "sftp":
      if (command.name === "sftp" && command.stdin !== null) return bangLines(command);
      return [
        ...optionValues(command, "-o").flatMap((value) => SSH_PROGRAM.exec(value)?.[1] ?? []),
        // To ssh itself they are a socket and a port.
        ...command.name === "ssh" ? [] : optionValues(command, "-S", "-D"),
      ];
    case "socat":
      return command.args.flatMap((arg) => {
        const kind = arg.slice(0, arg.indexOf(":")).toUpperCase();
        return kind === "SYSTEM" || kind === "EXEC" || kind === "SHELL"
          ? [afterFirst(arg, ":")]
          : [];
      });
    case "start-stop-daemon":
      return optionValues(command, "--exec", "-x", "--startas", "-a").map((program) =>
        `${quoteWord(program)} ${afterOption(command, "--")}`
      );
    case "aws":
      return optionValues(command, "--parameters").flatMap((value) =>
        value.startsWith("commands=") ? [trimQuotes(value.slice(9))] : []
      );
    default:
      return null;
  }
}

/** What stands behind the first of these, as words. */
function afterOption({ args }: SimpleCommand, ...options: string[]): string {
  const at = args.findIndex((arg) => options.includes(arg));
  return at < 0 ? "" : args.slice(at + 1).map(quoteWord).join(" ");
}

/** `make X='$(shell text)'`, and the shell that make hands each line to. */
function makeVariable(arg: string): string[] {
  if (arg.startsWith("SHELL=")) return [afterFirst(arg, "=")];
  const at = arg.indexOf("$(shell ");
  return at < 0 ? [] : [arg.slice(at + 8, arg.lastIndexOf(")"))];
}

const APT_PROGRAMS = /^[^=]*(?:-invoke|pre-install-pkgs)/i;
const SSH_PROGRAM = /^\s*(?:proxy|local|knownhosts|remote)command\s*[=\s]\s*(.*)$/is;

/** Database clients hand such lines to a shell: `\\! text`, `.shell text`, `\\o |text`, `.once '|text'`. */
function sqlEscape(line: string): string[] {
  const text = line.trim();
  const mark = SQL_ESCAPES.find((one) => text.startsWith(one));
  if (mark !== undefined) return [text.slice(mark.length)];
  const found = SQL_PIPES.exec(text);
  return found === null ? [] : [found[1] ?? found[2] ?? ""];
}

const SQL_ESCAPES = ["\\!", "system ", "pager ", ".shell ", ".system "];
const SQL_PIPES =
  /(?:\\(?:o|out|gx?|w)|^\.(?:once|output|import))\s*['"]?\|([^'"]*)|^\\copy\b.*\bprogram\s+'([^']*)/i;
const HYPERFINE_VALUED = new Set(["-w", "--warmup", "-r", "--runs", "-N", "-n", "-L", "-S"]);

/** Lines of input that an interactive program hands to a shell. */
function bangLines({ stdin }: SimpleCommand): string[] {
  return (stdin?.text ?? "").split("\n").flatMap(bang);
}

const bang = (line: string): string[] => line.startsWith("!") ? [line.slice(1)] : [];

const DEBUGGER_SHELL = /^\s*(?:!|(?:platform )?shell\s)(.*)/;

/** What follows the first mark; empty where there is none. */
export function afterFirst(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? "" : text.slice(at + mark.length);
}

function trimQuotes(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && "[]\"'".includes(text[from] ?? "")) from++;
  while (to > from && "[]\"'".includes(text[to - 1] ?? "")) to--;
  return text.slice(from, to);
}

/** Git runs what an alias with `!`, a pager, an editor or a hook setting says. */
function gitCommands(command: SimpleCommand): string[] {
  const texts: string[] = [];
  for (
    const setting of [...optionValues(command, "-c", "--config"), ...assignedSettings(command)]
  ) {
    const [key = "", value = ""] = [setting.split("=", 1)[0], afterFirst(setting, "=")];
    const name = key.toLowerCase();
    if (name.startsWith("alias.")) {
      texts.push(value.startsWith("!") ? value.slice(1) : `git ${value}`);
    } else if (isProgramSetting(name)) {
      texts.push(value.startsWith("!") ? value.slice(1) : value);
    }
  }
  for (const [name, text] of keptSettings(command)) {
    if (name.startsWith("alias.") ? text.startsWith("!") : isProgramSetting(name)) {
      texts.push(text.startsWith("!") ? text.slice(1) : text);
    }
  }
  texts.push(
    ...optionValues(
      command,
      "--exec",
      "--tree-filter",
      "--index-filter",
      "--msg-filter",
      "--upload-pack",
      "--receive-pack",
      "--open-files-in-pager",
      "--extcmd",
      "--sendmail-cmd",
    ),
    ...command.args.flatMap((arg) =>
      arg.startsWith("ext::") ? [arg.slice(5).replaceAll("% ", " ")] : []
    ),
  );
  if (command.args.includes("clone")) texts.push(...optionValues(command, "-u"));
  if (command.args.includes("grep")) {
    texts.push(...command.args.flatMap((arg) => arg.startsWith("-O") ? [arg.slice(2)] : []));
  }
  if (command.args.includes("rebase") || command.args.includes("difftool")) {
    texts.push(...optionValues(command, "-x"));
  }
  return texts;
}

/** `GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=text git log` sets as `-c` does. */
function assignedSettings({ assignments }: SimpleCommand): string[] {
  return [...assignments].flatMap(([name, key]) =>
    name.startsWith(GIT_KEY)
      ? [`${key}=${assignments.get(`GIT_CONFIG_VALUE_${name.slice(GIT_KEY.length)}`) ?? ""}`]
      : []
  );
}

const GIT_KEY = "GIT_CONFIG_KEY_";

/** What `git config name value` keeps for later: each two words that may be the name and the value. */
function keptSettings({ args }: SimpleCommand): (readonly [string, string])[] {
  const config = args.indexOf("config");
  if (config < 0) return [];
  const words = args.slice(config + 1).filter((arg) => !arg.startsWith("-"));
  return words.slice(1).map((value, at) => [words[at]!.toLowerCase(), value]);
}

const isProgramSetting = (name: string): boolean => GIT_PROGRAMS.some((end) => name.endsWith(end));

const GIT_PROGRAMS = [
  "pager",
  "editor",
  "sshcommand",
  "fsmonitor",
  "askpass",
  ".textconv",
  "credential.helper",
  ".cmd",
  "external",
  "gitproxy",
  "gpg.program",
  "difffilter",
  "packobjectshook",
  ".clean",
  ".smudge",
  ".process",
  ".driver",
];
