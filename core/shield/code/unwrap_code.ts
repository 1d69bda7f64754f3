import { decodeBase64 } from "./decode.ts";
import { type Flow, type SimpleCommand, textFlow } from "../model.ts";
import { type Inner, type ReadFile, shellText, STDIN_PATHS, UNSEEN } from "../interpreter/inner.ts";
import { sedScanOf } from "./sed.ts";

/** How an interpreter takes code on its command line. */
export interface Interpreter {
  /** Short options that take code, alone or in a cluster: `python -Bc`. */
  readonly letters: string;
  /** Long options that take code. */
  readonly long: readonly string[];
  /** Short options whose value stands behind them or is the next argument. */
  readonly valued: string;
  /** Short options that take the rest of their word: `-Mstrict`. */
  readonly attached: string;
  readonly valuedLong: readonly string[];
  /** Whether code may follow its letter in the same word: `perl -e1`. */
  readonly attaches: boolean;
  /** The subcommand that takes code: `deno eval`. */
  readonly verb: string | null;
  /** Options in PowerShell's way. */
  readonly windows: boolean;
  /** Short options behind which a module stands, and code behind its name: `-MPOSIX;code`. */
  readonly imports: string;
  /** Short options that name a module to run; what follows is the module's. */
  readonly modules: string;
  /** Short and long options that name a file of code. */
  readonly files: string;
  readonly longFiles: readonly string[];
  /** Whether the first operand is code where no option holds some, and what is read is data. */
  readonly operand: boolean;
}

/** Code of another language as inner code. */
export function codeText(text: string, language: string): Inner {
  return { kind: "code", flow: textFlow(text), language };
}

/** `python -c code`, `python file`, `python < input`, `perl -ne code -e more`. */
export function unwrapInterpreter(
  command: SimpleCommand,
  language: string,
  how: Interpreter,
  readFile: ReadFile,
): Inner[] {
  if (how.windows) return unwrapPowershell(command, language);
  const { args } = command;
  const codes: string[] = [];
  const files: string[] = [];
  const read = (path: string) =>
    codeFlow(STDIN_PATHS.has(path) ? command.stdin : readFile(path), language);
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") continue;
    if (!arg.startsWith("-") || arg === "-") {
      if (i === 0 && arg === how.verb) continue;
      if (args[0] === how.verb) return [codeText(arg, language)];
      if (codes.length > 0 || files.length > 0) break;
      return how.operand ? [codeText(arg, language)] : read(arg);
    }
    const found = optionOf(how, arg, args[i + 1]);
    if (found.takes === "module") return moduleCode(found.value, args.slice(i + 1), command);
    if (found.takes === "code" && found.value !== "") codes.push(found.value);
    if (found.takes === "file") files.push(found.value);
    if (found.takesNext) i++;
  }
  if (codes.length > 0 || files.length > 0) {
    return [
      ...codes.length > 0 ? [codeText(codes.join("\n"), language)] : [],
      ...files.flatMap(read),
    ];
  }
  return how.operand || (args[0] === how.verb && args.length > 0)
    ? []
    : codeFlow(command.stdin, language);
}

/** Code that is read, where anything is known of it. */
function codeFlow(flow: Flow | null, language: string): Inner[] {
  return flow === null ? [] : [{ kind: "code", flow, language }];
}

/** What an option of an interpreter takes. */
interface CodeOption {
  readonly takes: "code" | "file" | "module" | null;
  readonly value: string;
  /** Whether the value is the next argument. */
  readonly takesNext: boolean;
}

function optionOf(how: Interpreter, arg: string, next = ""): CodeOption {
  const equals = arg.indexOf("=");
  const name = equals < 0 ? arg : arg.slice(0, equals);
  const long = isOneOf(how.long, name) ? "code" : isOneOf(how.longFiles, name) ? "file" : null;
  if (long !== null || arg.startsWith("--")) {
    const takesNext = equals < 0 && (long !== null || how.valuedLong.includes(arg));
    return { takes: long, value: takesNext ? next : arg.slice(equals + 1), takesNext };
  }
  for (let at = 1; at < arg.length; at++) {
    const letter = arg[at] ?? "";
    const rest = arg.slice(at + 1);
    const takes = takenBy(how, letter);
    if (takes !== null || how.valued.includes(letter)) {
      const takesNext = rest === "" || (takes === "code" && !how.attaches);
      return { takes, value: takesNext ? next : rest, takesNext };
    }
    // Perl's `-MModule;code` is `use Module;code`.
    if (how.imports.includes(letter)) {
      return { takes: "code", value: rest.replace(MODULE_NAME, ""), takesNext: false };
    }
    if (how.attached.includes(letter)) break;
  }
  return { takes: null, value: "", takesNext: false };
}

function takenBy(how: Interpreter, letter: string): CodeOption["takes"] {
  if (how.letters.includes(letter)) return "code";
  if (how.files.includes(letter)) return "file";
  return how.modules.includes(letter) ? "module" : null;
}

const MODULE_NAME = /^-?[\w:]+=?/;

/** GNU programs take the start of a long option for the whole. */
function isOneOf(options: readonly string[], name: string): boolean {
  return options.some((one) =>
    one === name || (name.length > 2 && name.startsWith("--") && one.startsWith(name))
  );
}

/** `python -m timeit code`; other modules are programs by their own name: `python -m pip`. */
function moduleCode(name: string, rest: readonly string[], command: SimpleCommand): Inner[] {
  if (name === "code") return codeFlow(command.stdin, "python");
  if (name !== "timeit") {
    const own = rest[0] === name ? rest.slice(1) : rest;
    return [{ kind: "argv", argv: [name, ...own] }];
  }
  const codes = rest.map((arg) => arg.startsWith("-s") ? arg.slice(2) : arg)
    .filter((arg) => !arg.startsWith("-"));
  return [codeText(codes.join("\n"), "python")];
}

function unwrapPowershell(command: SimpleCommand, family: string): Inner[] {
  for (const [i, arg] of command.args.entries()) {
    const taken = takesCode(arg);
    const value = command.args[i + 1];
    if (value === undefined || taken === null) continue;
    const text = taken === "encoded"
      ? decodeBase64(value).replaceAll("\0", "")
      : command.args.slice(i + 1).join(" ");
    return [codeText(text, family)];
  }
  const at = command.args.findIndex((arg) => !arg.startsWith("-"));
  const first = command.args[at] ?? "";
  if (family === "powershell" && first.includes("-") && !first.toLowerCase().endsWith(".ps1")) {
    return [codeText(command.args.slice(at).join(" "), family)];
  }
  return codeFlow(command.stdin, family);
}

/** Options may be cut off where they stay unambiguous, and begin with a slash: `/enco`. */
function takesCode(arg: string): "encoded" | "plain" | null {
  const name = /^[-/]([a-z]+)$/i.exec(arg)?.[1]?.toLowerCase();
  if (name === undefined) return null;
  if (name === "ec" || "encodedcommand".startsWith(name)) return "encoded";
  return name === "cwa" || "commandwithargs".startsWith(name) ? "plain" : null;
}

/** What a sed script runs; one that runs nothing only writes. */
export function unwrapSed(
  command: SimpleCommand,
  how: Interpreter,
  readFile: ReadFile,
): Inner[] {
  return unwrapInterpreter(command, "sed", how, readFile).flatMap((script) => {
    const { texts, runsInput } = sedScanOf(
      command,
      (script.kind === "code" && script.flow.text) || "",
    );
    return [...texts.map(shellText), ...runsInput ? [UNSEEN] : []];
  });
}
