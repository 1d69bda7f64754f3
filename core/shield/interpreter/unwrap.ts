import { optionValues } from "../programs/arguments.ts";
import { type SimpleCommand, textFlow } from "../model.ts";
import {
  type Inner,
  quoteWord,
  type ReadFile,
  shellText,
  STDIN_PATHS,
  withoutDashes,
} from "./inner.ts";
import { factsOf } from "../programs/families.ts";
import { shellOptions } from "../programs/option_code.ts";
import { afterFirst } from "../programs/texts.ts";
import { interpreterOf, SHELLS } from "../programs/shells.ts";
import { codeOptions, codeText, unwrapInterpreter, unwrapSed } from "../code/unwrap_code.ts";
import {
  unwrapFd,
  unwrapFind,
  unwrapForFiles,
  unwrapNewRoot,
  unwrapParallel,
  unwrapXargs,
} from "../programs/unwrap_items.ts";
import { innerCommand, type Wrapper } from "../programs/wrapper.ts";
import { innerOf, wrappersOf } from "../programs/wrappers.ts";

/** Finds everything that a command runs besides itself; null for a program that never runs anything. */
export type Unwrapper = (command: SimpleCommand, readFile: ReadFile) => readonly Inner[] | null;

/** How the commands of a program are unwrapped. */
export function unwrapperOf(name: string): Unwrapper {
  const special = SPECIAL.get(name);
  if (special !== undefined) return special;
  if (SHELLS.has(name)) return unwrapShell;
  const family = interpreterOf(name);
  if (family !== null) return (command, readFile) => unwrapInterpreter(command, family, readFile);
  const wrappers = wrappersOf(name);
  return (command, readFile) => unwrapOrdinary(command, wrappers, readFile);
}

function unwrapOrdinary(
  command: SimpleCommand,
  wrappers: readonly Wrapper[],
  readFile: ReadFile,
): readonly Inner[] | null {
  const inner: Inner[] = [];
  const texts = shellOptions(command, readFile);
  const codes = codeOptions(command, readFile);
  const may = wrappers.length > 0 || texts !== null || codes !== null ||
    ENTRYPOINTS.has(command.name) || opensShell(command);
  if (!may) return null;
  for (const wrapper of wrappers) {
    const found = innerCommand(wrapper, command.args);
    if (found === null) continue;
    if (wrapper.mode === "shell") inner.push(shellText(found.argv.join(" ")));
    else if (wrapper.mode === "keys") inner.push(shellText(typedLines(found.argv)));
    else inner.push({ kind: "argv", ...found });
  }
  if (texts !== null) { for (const text of texts) inner.push(shellText(text)); }
  if (codes !== null) inner.push(...codes);
  inner.push(...entrypoint(command, inner));
  return inner.length === 0 && opensShell(command) ? unwrapStdin(command) : inner;
}

/** The text that these keys type into a terminal: `Enter`, `C-m` and `^M` end a line. */
function typedLines(keys: readonly string[]): string {
  return keys.map((key) => ENTER.test(key) ? "\n" : key.replaceAll(/\^M|\\(?:r|n|015|012)/g, "\n"))
    .join(" ");
}

const ENTER = /^(?:k?enter|kpenter|c-[mj])$/i;

/** Whether a program without a command starts a shell, here or remotely, that runs its standard input. */
function opensShell(command: SimpleCommand): boolean {
  return OPENS_SHELL.get(command.name)?.(command) ?? false;
}

const OPENS_SHELL = factsOf("opensShell");
const ENTRYPOINTS = factsOf("entrypoints");

/** An entrypoint runs with the arguments behind the image. */
function entrypoint(command: SimpleCommand, found: readonly Inner[]): Inner[] {
  const first = found.find((inner) => inner.kind === "argv");
  const programs = ENTRYPOINTS.get(command.name)?.(command) ?? [];
  return programs.map((program) => ({ kind: "argv", argv: [program, ...first?.argv ?? []] }));
}

/** `sh -c text`, `sh file`, `sh < input`. */
function unwrapShell(command: SimpleCommand, readFile: ReadFile): Inner[] {
  const { args } = command;
  const found: Inner[] = [];
  let text = false;
  let stdin = false;
  let i = 0;
  for (; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") {
      i++;
      break;
    }
    if (arg === "-" || !(arg.startsWith("-") || arg.startsWith("+"))) break;
    if (arg === "--command") text = true;
    else if (arg.startsWith("--command=")) return [shellText(arg.slice(10))];
    else if (arg.startsWith("--")) {
      const startup = arg === "--rcfile" || arg === "--init-file"
        ? readFile(args[++i] ?? "")
        : null;
      if (startup !== null) found.push({ kind: "shell", flow: startup });
    } else {
      if (arg.includes("c")) text = true;
      if (arg.includes("s")) stdin = true;
      if (arg.endsWith("o") || arg.endsWith("O")) i++;
    }
  }
  const rest = args.slice(i);
  const first = rest[0];
  if (text && first !== undefined) {
    const flow = textFlow(first);
    found.push({ kind: "shell", flow, positional: rest.slice(2), zero: rest[1] ?? "sh" });
  } else if (first !== undefined && !stdin && !STDIN_PATHS.has(first)) {
    const flow = readFile(first);
    if (flow !== null) found.push({ kind: "shell", flow, positional: rest.slice(1) });
  } else if (command.stdin !== null) {
    found.push({ kind: "shell", flow: command.stdin, positional: rest });
  }
  return found;
}

const SPECIAL: ReadonlyMap<string, Unwrapper> = new Map([
  ["eval", ({ args }) => [shellText(withoutDashes(args).join(" "))]],
  ["at", unwrapStdin],
  ["batch", unwrapStdin],
  ["su", unwrapSu],
  ["runuser", unwrapSu],
  ["sg", unwrapSu],
  [
    "trap",
    ({ args }) => {
      const [text] = withoutDashes(args);
      return text === undefined || text === "-" ? [] : [shellText(text)];
    },
  ],
  ["alias", unwrapAlias],
  ["mapfile", (command) => optionValues(command, "-C").map(shellText)],
  ["readarray", (command) => optionValues(command, "-C").map(shellText)],
  ["command", unwrapCommand],
  ["xargs", unwrapXargs],
  ["gxargs", unwrapXargs],
  ["find", unwrapFind],
  ["gfind", unwrapFind],
  ["fd", unwrapFd],
  ["fdfind", unwrapFd],
  ["parallel", unwrapParallel],
  ["sed", unwrapSed],
  ["gsed", unwrapSed],
  ["env", unwrapEnv],
  ["genv", unwrapEnv],
  ["bwrap", unwrapNewRoot],
  ["capsh", (command) => afterDashes(command, "bash")],
  ["nix", (command) => afterOption(command, "-c", "--command", "--run")],
  ["nix-shell", (command) => optionValues(command, "--run", "--command").map(shellText)],
  ["guix", (command) => afterDashes(command)],
  ["gnome-terminal", (command) => afterDashes(command)],
  ["iex", unwrapExpression],
  ["invoke-expression", unwrapExpression],
  ["forfiles", unwrapForFiles],
  ["cmd", (command) => {
    // A shell that takes `/c` for a path is given `//c`.
    const at = command.args.findIndex((arg) => CMD_CODE.has(arg.toLowerCase()));
    const text = command.args.slice(at + 1).join(" ");
    return at < 0 ? [] : [shellText(text.replaceAll(/(^|\s)\/\/(?=\w)/g, "$1/"))];
  }],
]);

const CMD_CODE = new Set(["/c", "/k", "//c", "//k"]);

function unwrapExpression({ stdin, args }: SimpleCommand): Inner[] {
  return [
    stdin === null
      ? codeText(args.join(" "), "powershell")
      : { kind: "code", flow: stdin, language: "powershell" },
  ];
}

/** `env -vS "program a" b`: the text is split, and what follows it comes behind. */
function unwrapEnv(command: SimpleCommand): Inner[] {
  for (const [i, arg] of command.args.entries()) {
    if (!arg.startsWith("-")) break;
    const long = arg.startsWith("--split-string");
    const at = arg.startsWith("--") ? -1 : arg.indexOf("S");
    if (!long && at < 0) continue;
    const own = long ? afterFirst(arg, "=") : arg.slice(at + 1);
    const rest = command.args.slice(own === "" ? i + 2 : i + 1);
    const text = own === "" ? command.args[i + 1] ?? "" : own;
    return [shellText([text, ...rest.map(quoteWord)].join(" "))];
  }
  const found = innerOf("env", command.args);
  return found === null ? [] : [{ kind: "argv", ...found }];
}

function afterDashes({ args }: SimpleCommand, ...program: string[]): Inner[] {
  const at = args.findIndex((arg) => arg === "--" || arg === "==");
  return at < 0 ? [] : [{ kind: "argv", argv: [...program, ...args.slice(at + 1)] }];
}

function afterOption({ args }: SimpleCommand, ...options: string[]): Inner[] {
  const at = args.findIndex((arg) => options.includes(arg));
  return at < 0 ? [] : [{ kind: "argv", argv: args.slice(at + 1) }];
}

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
  if (texts.length > 0) return texts.map(shellText);
  const dashes = command.args.indexOf("--");
  if (dashes >= 0) return [{ kind: "argv", argv: command.args.slice(dashes + 1) }];
  const user = command.args.findIndex((arg) => arg === "-u" || arg === "--user");
  if (command.name === "runuser" && user >= 0) {
    return [{ kind: "argv", argv: command.args.slice(user + 2) }];
  }
  if (command.name === "sg" && command.args[1] !== undefined) {
    return [shellText(command.args.slice(1).join(" "))];
  }
  return unwrapStdin(command);
}

function unwrapStdin({ stdin }: SimpleCommand): Inner[] {
  return stdin === null ? [] : [{ kind: "shell", flow: stdin }];
}

function unwrapAlias(command: SimpleCommand): Inner[] {
  return command.args.flatMap((arg) => arg.includes("=") ? [shellText(afterFirst(arg, "="))] : []);
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
