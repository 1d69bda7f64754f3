import { optionValues } from "./arguments.ts";
import { decodeBase64 } from "./decode.ts";
import {
  type Flow,
  flowText,
  FROM_NETWORK,
  NOTHING,
  type SimpleCommand,
  textFlow,
  UNKNOWN,
} from "./command.ts";
import { interpreterOf, INTERPRETERS, SHELLS } from "./shells.ts";
import { innerCommand, wrappersOf } from "./wrappers.ts";

/** Code that a command runs: another program, shell text, or code of another language. */
export type Inner =
  | {
    readonly kind: "argv";
    readonly argv: readonly string[];
    readonly assignments?: readonly [string, string][];
  }
  | { readonly kind: "shell"; readonly flow: Flow; readonly positional?: readonly string[] }
  | { readonly kind: "code"; readonly flow: Flow; readonly language: string };

/** The content of a path, as far as the line itself tells. */
export type ReadFile = (path: string) => Flow | null;

/** Everything that a command runs besides itself. */
export function unwrap(command: SimpleCommand, readFile: ReadFile): Inner[] {
  const special = SPECIAL.get(command.name);
  if (special !== undefined) return special(command);
  if (SHELLS.has(command.name)) return unwrapShell(command, readFile);
  const family = interpreterOf(command.name);
  if (family !== null) return unwrapInterpreter(command, family, readFile);
  const inner: Inner[] = [];
  for (const wrapper of wrappersOf(command.name)) {
    const found = innerCommand(wrapper, command.args);
    if (found === null) continue;
    if (wrapper.mode === "shell") inner.push(shell(found.argv.join(" ")));
    else inner.push({ kind: "argv", argv: found.argv, assignments: found.assignments });
  }
  for (const text of shellOptions(command)) inner.push(shell(text));
  return inner;
}

function shell(text: string): Inner {
  return { kind: "shell", flow: textFlow(text) };
}

/** `sh -c text`, `sh file`, `sh < input`. */
function unwrapShell(command: SimpleCommand, readFile: ReadFile): Inner[] {
  let text = false;
  let stdin = false;
  let i = 0;
  for (; i < command.args.length; i++) {
    const arg = command.args[i] ?? "";
    if (arg === "--") {
      i++;
      break;
    }
    if (arg === "-" || !(arg.startsWith("-") || arg.startsWith("+"))) break;
    if (arg === "--command") text = true;
    else if (arg.startsWith("--command=")) return [shell(arg.slice(10))];
    else if (arg.startsWith("--")) {
      if (arg === "--rcfile" || arg === "--init-file") i++;
    } else {
      if (arg.includes("c")) text = true;
      if (arg.includes("s")) stdin = true;
      if (arg.endsWith("o") || arg.endsWith("O")) i++;
    }
  }
  const rest = command.args.slice(i);
  const first = rest[0];
  if (text && first !== undefined) {
    return [{ kind: "shell", flow: textFlow(first), positional: rest.slice(2) }];
  }
  if (first !== undefined && !stdin && !STDIN_PATHS.has(first)) {
    const content = readFile(first);
    return content === null ? [] : [{ kind: "shell", flow: content, positional: rest.slice(1) }];
  }
  if (command.stdin === null) return [];
  return [{ kind: "shell", flow: command.stdin, positional: rest }];
}

const STDIN_PATHS = new Set(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]);

/** `python -c code`, `python file`, `python < input`, `node -e code`. */
function unwrapInterpreter(command: SimpleCommand, family: string, readFile: ReadFile): Inner[] {
  const options = INTERPRETERS.get(family) ?? [];
  const windows = family === "pwsh" || family === "powershell";
  const args = command.args;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const option = windows ? arg.toLowerCase() : arg;
    const value = args[i + 1];
    if (windows && options.includes(option) && value !== undefined) {
      const encoded = option.startsWith("-e");
      return [
        code(
          encoded ? decodeBase64(value).replaceAll("\0", "") : args.slice(i + 1).join(" "),
          family,
        ),
      ];
    }
    if (options.includes(option) && value !== undefined) return [code(value, family)];
    const attached = options.find((one) =>
      one.startsWith("--") ? arg.startsWith(`${one}=`) : arg.length > 2 && arg.startsWith(one)
    );
    if (attached !== undefined) return [code(arg.slice(attached.length), family)];
    // Perl and Ruby take their code last in a cluster: `perl -lane code`, `ruby -ne code`.
    if (CLUSTERED.has(family) && isCluster(arg) && value !== undefined) {
      return [code(value, family)];
    }
    if (family === "deno" && arg === "eval" && value !== undefined) return [code(value, family)];
    if (family === "php" && arg === "-r" && value !== undefined) return [code(value, family)];
    if (!arg.startsWith("-") || arg === "-") {
      if (STDIN_PATHS.has(arg)) break;
      const content = readFile(arg);
      return content === null ? [] : [{ kind: "code", flow: content, language: family }];
    }
    if (arg === "-m") return [];
    if (VALUED.has(arg)) i++;
  }
  if (command.stdin === null) return [];
  return [{ kind: "code", flow: command.stdin, language: family }];
}

const CLUSTERED = new Set(["perl", "ruby"]);
const VALUED = new Set(["-W", "-X", "-I", "-r", "--require", "--import", "-O"]);

function isCluster(arg: string): boolean {
  return arg.startsWith("-") && !arg.startsWith("--") && (arg.endsWith("e") || arg.endsWith("E")) &&
    arg.length <= 8;
}

function code(text: string, language: string): Inner {
  return { kind: "code", flow: textFlow(text), language };
}

/** Options of ordinary programs whose value is a command line. */
function shellOptions(command: SimpleCommand): string[] {
  switch (command.name) {
    case "env":
    case "genv":
      return optionValues(command, "-S", "--split-string");
    case "flock":
    case "script":
    case "unbuffer":
      return optionValues(command, "-c", "--command");
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
      return optionValues(command, "-c", "--call");
    case "nix-shell":
    case "nix":
      return optionValues(command, "--run", "--command");
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
      return optionValues(command, "--eval", "-E").map((value) =>
        afterFirst(value, ":").replaceAll(";", "\n")
      );
    case "vi":
    case "vim":
    case "nvim":
    case "ex":
    case "view":
      return editorCommands(command);
    case "sed":
    case "gsed":
      return sedCommands(command);
    case "ssh":
    case "scp":
    case "sftp":
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
      return [];
  }
}

function afterFirst(text: string, mark: string): string {
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

/** GNU sed's `e` command runs the rest of its line. */
function sedCommands(command: SimpleCommand): string[] {
  return command.args.flatMap((arg) => {
    let at = 0;
    while (at < arg.length && "0123456789$,! ".includes(arg[at] ?? "")) at++;
    return arg[at] === "e" && arg[at + 1] === " " ? [arg.slice(at + 2)] : [];
  });
}

const SPECIAL: ReadonlyMap<string, (command: SimpleCommand) => Inner[]> = new Map([
  ["eval", (command) => [shell(command.args.join(" "))]],
  ["su", unwrapSu],
  ["runuser", unwrapSu],
  ["sg", unwrapSu],
  [
    "trap",
    (command) =>
      command.args[0] === undefined || command.args[0] === "-" ? [] : [shell(command.args[0])],
  ],
  ["alias", unwrapAlias],
  ["command", unwrapCommand],
  ["xargs", unwrapXargs],
  ["gxargs", unwrapXargs],
  ["find", unwrapFind],
  ["gfind", unwrapFind],
  ["fd", unwrapFd],
  ["fdfind", unwrapFd],
  ["parallel", unwrapParallel],
  ["awk", unwrapAwk],
  ["gawk", unwrapAwk],
  ["mawk", unwrapAwk],
  ["nawk", unwrapAwk],
  [
    "iex",
    (
      command,
    ) => [{
      kind: "code",
      flow: command.stdin ?? textFlow(command.args.join(" ")),
      language: "powershell",
    }],
  ],
  [
    "invoke-expression",
    (
      command,
    ) => [{
      kind: "code",
      flow: command.stdin ?? textFlow(command.args.join(" ")),
      language: "powershell",
    }],
  ],
  ["cmd", (command) => {
    const at = command.args.findIndex((arg) =>
      arg.toLowerCase() === "/c" || arg.toLowerCase() === "/k"
    );
    return at < 0 ? [] : [shell(command.args.slice(at + 1).join(" "))];
  }],
]);

/** `su [-] [user] -c text`, `runuser -u user -- program`. */
function unwrapSu(command: SimpleCommand): Inner[] {
  const texts = optionValues(command, "-c", "--command", "--session-command").filter((text) =>
    text !== "ommand"
  );
  const cluster = command.args.findIndex((arg) =>
    arg.startsWith("-") && !arg.startsWith("--") && arg.length > 2 && arg.endsWith("c")
  );
  const next = cluster < 0 ? undefined : command.args[cluster + 1];
  if (next !== undefined) texts.push(next);
  if (texts.length > 0) return texts.map(shell);
  const dashes = command.args.indexOf("--");
  if (dashes >= 0) return [{ kind: "argv", argv: command.args.slice(dashes + 1) }];
  const user = command.args.findIndex((arg) => arg === "-u" || arg === "--user");
  if (command.name === "runuser" && user >= 0) {
    return [{ kind: "argv", argv: command.args.slice(user + 2) }];
  }
  if (command.name === "sg" && command.args[1] !== undefined) {
    return [shell(command.args.slice(1).join(" "))];
  }
  return command.stdin === null ? [] : [{ kind: "shell", flow: command.stdin }];
}

function unwrapAlias(command: SimpleCommand): Inner[] {
  return command.args.flatMap((arg) => arg.includes("=") ? [shell(afterFirst(arg, "="))] : []);
}

/** `command -v rm` only looks the name up. */
function unwrapCommand(command: SimpleCommand): Inner[] {
  let i = 0;
  for (; command.args[i]?.startsWith("-"); i++) {
    const arg = command.args[i] ?? "";
    if (arg === "--") {
      i++;
      break;
    }
    if (arg.includes("v") || arg.includes("V")) return [];
  }
  return [{ kind: "argv", argv: command.args.slice(i) }];
}

const XARGS = {
  short: "ILnPsdEaJRS",
  long: ["max-args", "max-procs", "max-lines", "max-chars", "delimiter", "arg-file", "eof"],
};

/** `… | xargs program`: what comes in becomes arguments. */
function unwrapXargs(command: SimpleCommand): Inner[] {
  const found = innerCommand({
    verbs: [],
    short: XARGS.short,
    long: XARGS.long,
    skip: 0,
    mode: "argv",
    assigns: false,
  }, command.args);
  if (found === null) return [];
  const placeholder = optionValues(command, "-I", "--replace", "-J")[0] ??
    (command.args.some((arg) => arg === "-i" || arg === "--replace") ? "{}" : null);
  const flow = command.stdin ?? NOTHING;
  const incoming = flow.text === null ? [flowText(flow)] : splitInput(flow.text);
  if (placeholder === null || placeholder === "") {
    return [{ kind: "argv", argv: [...found.argv, ...incoming] }];
  }
  const whole = flow.text === null
    ? incoming
    : flow.text.split("\n").filter((line) => line.trim() !== "");
  return whole.slice(0, 16).map((item) => ({
    kind: "argv",
    argv: found.argv.map((arg) => arg.replaceAll(placeholder, item)),
  }));
}

/** Words that xargs would make of its input; quotes only group. */
function splitInput(text: string): string[] {
  const words: string[] = [];
  for (
    const word of text.replaceAll("'", "").replaceAll('"', "").split("\n").join(" ").split("\t")
      .join(" ").split(" ")
  ) {
    if (word !== "") words.push(word);
  }
  return words.slice(0, 256);
}

const FIND_NARROWERS = new Set([
  "-name",
  "-iname",
  "-path",
  "-ipath",
  "-wholename",
  "-regex",
  "-iregex",
  "-size",
  "-mtime",
  "-atime",
  "-ctime",
  "-mmin",
  "-amin",
  "-cmin",
  "-newer",
  "-user",
  "-group",
  "-perm",
  "-empty",
  "-links",
  "-inum",
  "-samefile",
  "-lname",
  "-nouser",
  "-nogroup",
  "-newermt",
  "-used",
]);

/** The places that find starts from, and the name that narrows it: null for none, UNKNOWN where it is no name. */
export function findScope(command: SimpleCommand): { starts: string[]; narrowed: string | null } {
  const starts: string[] = [];
  let narrowed: string | null = null;
  let expression = false;
  for (const [i, arg] of command.args.entries()) {
    if (arg.startsWith("-") && arg.length > 2 || arg === "(" || arg === "!") expression = true;
    if (!expression && !arg.startsWith("-")) starts.push(arg);
    if (!FIND_NARROWERS.has(arg)) continue;
    const value = command.args[i + 1] ?? UNKNOWN;
    narrowed = (arg === "-name" || arg === "-iname") && value !== "*"
      ? value
      : narrowed ?? (value === "*" ? null : UNKNOWN);
  }
  return { starts: starts.length === 0 ? ["."] : starts, narrowed };
}

/** `find … -exec program {} ;`. */
function unwrapFind(command: SimpleCommand): Inner[] {
  const { starts, narrowed } = findScope(command);
  const targets = starts.map((start) => narrowed === null ? start : `${start}/${narrowed}`);
  const inner: Inner[] = [];
  for (const [i, arg] of command.args.entries()) {
    if (!FIND_ACTIONS.has(arg)) continue;
    const rest = command.args.slice(i + 1);
    const end = rest.findIndex((word, at) =>
      word === ";" || (word === "+" && rest[at - 1] === "{}")
    );
    const argv = end < 0 ? rest : rest.slice(0, end);
    inner.push({ kind: "argv", argv: argv.flatMap((word) => fill(word, targets)) });
  }
  return inner;
}

const FIND_ACTIONS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

function fill(word: string, targets: readonly string[]): string[] {
  if (word === "{}") return [...targets];
  return [word.includes("{}") ? word.replaceAll("{}", targets[0] ?? UNKNOWN) : word];
}

function unwrapFd(command: SimpleCommand): Inner[] {
  const at = command.args.findIndex((arg) =>
    arg === "-x" || arg === "-X" || arg === "--exec" || arg === "--exec-batch"
  );
  if (at < 0) return [];
  const argv = command.args.slice(at + 1).map((word) => word.replaceAll("{}", `./${UNKNOWN}`));
  if (!command.args.slice(at + 1).some((word) => word.includes("{"))) argv.push(`./${UNKNOWN}`);
  return [{ kind: "argv", argv }];
}

/** `parallel program ::: a b`: arguments or lines of input fill `{}`. */
function unwrapParallel(command: SimpleCommand): Inner[] {
  const marks = command.args.findIndex((arg) => arg.startsWith(":::"));
  const front = marks < 0 ? command.args : command.args.slice(0, marks);
  const given = marks < 0
    ? []
    : command.args.slice(marks + 1).filter((arg) => !arg.startsWith(":::"));
  const found = innerCommand(
    {
      verbs: [],
      short: "jPnNLaSIdEC",
      long: ["jobs", "max-args", "delay", "timeout", "joblog", "colsep", "results", "retries"],
      skip: 0,
      mode: "argv",
      assigns: false,
    },
    front,
  );
  const flow = command.stdin;
  const lines = marks >= 0
    ? given
    : flow === null
    ? []
    : flow.text === null
    ? [flowText(flow)]
    : flow.text.split("\n").filter((line) => line !== "");
  const template = found?.argv.join(" ") ?? "";
  if (lines.length === 0) return template === "" ? [] : [shell(template)];
  return lines.slice(0, 16).map((line) =>
    shell(
      template === ""
        ? line
        : template.includes("{}")
        ? template.replaceAll("{}", line)
        : `${template} ${line}`,
    )
  );
}

/** Awk's program is code: `system("…")`, `| "sh"`. */
function unwrapAwk(command: SimpleCommand): Inner[] {
  for (let i = 0; i < command.args.length; i++) {
    const arg = command.args[i] ?? "";
    if (arg === "-F" || arg === "-v" || arg === "-f") {
      if (arg === "-f") return [];
      i++;
    } else if (!arg.startsWith("-")) return [code(arg, "awk")];
  }
  return [];
}

/** Whether text that is about to be run came over the network. */
export function isDownloaded(flow: Flow): boolean {
  return flow.network || (flow.text?.includes(FROM_NETWORK) ?? false);
}
