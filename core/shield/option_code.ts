import { hasFlag, operands, optionValues } from "./arguments.ts";
import type { SimpleCommand } from "./command.ts";
import type { ReadFile } from "./inner.ts";
import { debuggerTexts } from "./unwrap_code.ts";

/** Options of ordinary programs whose value is a command line; null for programs that have none. */
export function shellOptions(command: SimpleCommand, readFile: ReadFile): string[] | null {
  switch (command.name) {
    case "flock":
    case "script":
    case "unbuffer":
      return [...optionValues(command, "-c", "--command"), ...clusterValues(command, "c")];
    case "vagrant":
    case "toolbox":
      return optionValues(command, "-c", "--command");
    case "gcloud":
    case "doppler":
    case "az":
      return optionValues(command, "--command", "--scripts");
    case "fly":
    case "flyctl":
      return optionValues(command, "-C", "--command");
    case "ansible":
      return optionValues(command, "-a", "--args");
    case "npx":
    case "npm":
    case "pnpm":
    case "yarn":
      return optionValues(command, "-c", "--call");
    case "psql":
    case "mysql":
    case "mariadb":
    case "sqlite3":
    case "cqlsh":
      return [...command.args, ...(command.stdin?.text ?? "").split("\n")].flatMap(sqlEscape);
    case "hyperfine":
      return [
        ...operands(command, HYPERFINE_VALUED),
        ...optionValues(command, "-p", "--prepare", "-c", "--cleanup", "-s", "--setup"),
      ];
    case "entr":
      return hasFlag(command, "s") ? [operands(command).join(" ")] : [];
    case "man":
      return optionValues(command, "-P", "--pager", "-H", "--html");
    case "zip":
      return [...optionValues(command, "-TT", "--unzip-command")];
    case "less":
    case "more":
    case "most":
      return [...bangLines(command), ...editorCommands(command)];
    case "ftp":
    case "lftp":
      return bangLines(command);
    case "gdb":
    case "lldb":
      return debuggerTexts(command).map((text) =>
        text.startsWith("!") ? text.slice(1) : text.startsWith("shell ") ? text.slice(6) : ""
      );
    case "git":
      return gitCommands(command);
    case "tar":
    case "gtar":
    case "bsdtar":
      return [
        ...optionValues(command, "--checkpoint-action").map((value) =>
          value.startsWith("exec=") ? value.slice(5) : ""
        ),
        ...optionValues(command, "--to-command", "--use-compress-program", "-I"),
      ];
    case "rsync":
      return optionValues(command, "-e", "--rsh");
    case "make":
    case "gmake":
      return [
        ...optionValues(command, "--eval", "-E"),
        ...optionValues(command, "-f", "--file").flatMap((path) =>
          ((path === "-" ? command.stdin : readFile(path))?.text ?? "").split("\n")
        ),
      ].map((line) => line.slice(line.indexOf(":") + 1).replaceAll(";", "\n"));
    case "vi":
    case "vim":
    case "nvim":
    case "ex":
    case "view":
      return editorCommands(command);
    case "ssh":
    case "scp":
    case "sftp":
      if (command.name === "sftp" && command.stdin !== null) return bangLines(command);
      return optionValues(command, "-o").flatMap((value) =>
        value.toLowerCase().startsWith("proxycommand") ||
          value.toLowerCase().startsWith("localcommand")
          ? [afterFirst(value, "=").trim()]
          : []
      );
    case "socat":
      return command.args.flatMap((arg) => {
        const kind = arg.slice(0, arg.indexOf(":")).toUpperCase();
        return kind === "SYSTEM" || kind === "EXEC" || kind === "SHELL"
          ? [afterFirst(arg, ":")]
          : [];
      });
    case "start-stop-daemon":
      return optionValues(command, "--exec", "-x", "--startas", "-a");
    case "aws":
      return optionValues(command, "--parameters").flatMap((value) =>
        value.startsWith("commands=") ? [trimQuotes(value.slice(9))] : []
      );
    default:
      return null;
  }
}

/** Database clients hand such lines to a shell: `\\! text`, `.shell text`. */
function sqlEscape(line: string): string[] {
  const text = line.trim();
  const mark = SQL_ESCAPES.find((one) => text.startsWith(one));
  return mark === undefined ? [] : [text.slice(mark.length)];
}

const SQL_ESCAPES = ["\\!", "system ", ".shell ", ".system "];
const HYPERFINE_VALUED = new Set(["-w", "--warmup", "-r", "--runs", "-N", "-n", "-L", "-S"]);

/** The value after a cluster that ends in this letter: `script -qefc text`. */
function clusterValues({ args }: SimpleCommand, letter: string): string[] {
  return args.flatMap((arg, i) =>
    arg.length > 2 && arg.startsWith("-") && !arg.startsWith("--") && arg.endsWith(letter)
      ? args.slice(i + 1, i + 2)
      : []
  );
}

/** Lines of input that an interactive program hands to a shell. */
function bangLines({ stdin }: SimpleCommand): string[] {
  return (stdin?.text ?? "").split("\n").flatMap((line) =>
    line.startsWith("!") ? [line.slice(1)] : []
  );
}

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
  for (const setting of optionValues(command, "-c")) {
    const [key = "", value = ""] = [setting.split("=", 1)[0], afterFirst(setting, "=")];
    const name = key.toLowerCase();
    if (name.startsWith("alias.")) {
      texts.push(value.startsWith("!") ? value.slice(1) : `git ${value}`);
    } else if (GIT_PROGRAMS.some((end) => name.endsWith(end))) {
      texts.push(value.startsWith("!") ? value.slice(1) : value);
    }
  }
  texts.push(...optionValues(command, "--exec", "--tree-filter", "--index-filter", "--msg-filter"));
  if (command.args.includes("rebase")) texts.push(...optionValues(command, "-x"));
  const config = command.args.indexOf("config");
  if (config >= 0) {
    const at = command.args.findIndex((arg) => arg.startsWith("alias."));
    const value = at < 0 ? undefined : command.args[at + 1];
    if (value?.startsWith("!")) texts.push(value.slice(1));
  }
  return texts;
}

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
];

function editorCommands(command: SimpleCommand): string[] {
  const found = [
    ...optionValues(command, "-c", "--cmd"),
    ...command.args.filter((arg) => arg.startsWith("+")).map((arg) => arg.slice(1)),
  ];
  return found.flatMap((text) => {
    const at = text.indexOf("!");
    return at >= 0 && at <= 4 ? [text.slice(at + 1)] : [];
  });
}
