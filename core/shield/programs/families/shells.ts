import {
  type Inner,
  quoteWord,
  type ReadFile,
  shellInput,
  shellText,
  STDIN_PATHS,
  withoutDashes,
} from "../../interpreter/inner.ts";
import { nameProgram } from "../../interpreter/links.ts";
import { type SimpleCommand, textFlow } from "../../model.ts";
import { operands, optionValues } from "../arguments.ts";
import type { Family, FileNoter } from "../family.ts";
import { printsNothing, printsOperand } from "../flows.ts";
import { afterFirst } from "../texts.ts";

const NAMES = [
  "sh",
  "bash",
  "zsh",
  "dash",
  "ksh",
  "ksh93",
  "mksh",
  "ash",
  "rbash",
  "fish",
  "csh",
  "tcsh",
  "hush",
  "oksh",
  "yash",
  "posh",
  "nu",
  "elvish",
  "xonsh",
  "osh",
];

/** Programs that run shell text: given with `-c`, in a file, or on standard input. */
export const SHELLS: ReadonlySet<string> = new Set([...NAMES, "su"]);

/** Shells whose `-n` reads commands and runs none. */
const CHECKS_SYNTAX = new Set("sh bash zsh dash ksh ksh93 mksh ash rbash".split(" "));

/** `sh -c text`, `sh file`, `sh < input`. */
function unwrapShell(command: SimpleCommand, readFile: ReadFile): Inner[] {
  const { args } = command;
  const found: Inner[] = [];
  let text = false;
  let stdin = false;
  let onlyReads = false;
  let asks = false;
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
      if (arg.includes("i")) asks = true;
      if (arg.includes("n")) onlyReads = arg.startsWith("-");
      if (arg.endsWith("o") || arg.endsWith("O")) {
        i++;
        if (args[i] === "noexec") onlyReads = arg.startsWith("-");
      }
    }
  }
  // Such a shell checks the syntax; one that asks for commands takes no notice of the option.
  if (onlyReads && !asks && CHECKS_SYNTAX.has(command.name)) return [];
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

const noteAliases: FileNoter = ({ args }, _output, scope) => {
  for (const arg of args) {
    const equals = arg.indexOf("=");
    if (equals <= 0) continue;
    const text = arg.slice(equals + 1);
    nameProgram(scope, arg.slice(0, equals), TAKES_NOTHING.test(text) ? text : `${text} "$@"`);
  }
};

/** The end of a loop, a branch, a group or a subshell, behind which no argument may stand. */
const TAKES_NOTHING = /(?:[\s;](?:done|fi|esac|\})|^\(.*\))\s*$/s;

/** `hash -p /bin/rm ls`. */
const noteHash: FileNoter = (command, _output, scope) => {
  const [program] = optionValues(command, "-p");
  if (program === undefined) return;
  for (const name of operands(command, HASH_VALUED)) {
    nameProgram(scope, name, `${quoteWord(program)} "$@"`);
  }
};

const HASH_VALUED = new Set(["-p"]);

function unwrapTrap({ args }: SimpleCommand): Inner[] {
  const [text] = withoutDashes(args);
  return text === undefined || text === "-" ? [] : [shellText(text)];
}

/** `cmd /c text`; a shell that takes `/c` for a path is given `//c`. */
function unwrapCmd({ args }: SimpleCommand): Inner[] {
  const at = args.findIndex((arg) => CMD_CODE.has(arg.toLowerCase()));
  const text = args.slice(at + 1).join(" ");
  return at < 0 ? [] : [shellText(text.replaceAll(/(^|\s)\/\/(?=\w)/g, "$1/"))];
}

const CMD_CODE = new Set(["/c", "/k", "//c", "//k"]);

/** Shells, their builtins that run text, and programs that keep text for later. */
export const SHELL_PROGRAMS: readonly Family[] = [
  { names: NAMES, unwrap: unwrapShell },
  { names: ["cmd"], unwrap: unwrapCmd },
  { names: ["eval"], unwrap: ({ args }) => [shellText(withoutDashes(args).join(" "))] },
  { names: ["command"], wrappers: [{}], unwrap: unwrapCommand, prints: printsOperand },
  { names: ["trap"], unwrap: unwrapTrap, prints: printsNothing },
  {
    names: ["alias"],
    unwrap: unwrapAlias,
    looks: true,
    noteFiles: noteAliases,
    prints: printsNothing,
  },
  { names: ["hash"], noteFiles: noteHash },
  {
    names: ["mapfile", "readarray"],
    unwrap: (command) => optionValues(command, "-C").map(shellText),
  },
  { names: ["at", "batch"], unwrap: shellInput },
];
