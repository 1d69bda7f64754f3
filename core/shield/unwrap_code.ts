import { decodeBase64 } from "./decode.ts";
import { optionValues } from "./arguments.ts";
import { type SimpleCommand, textFlow } from "./command.ts";
import type { Inner, ReadFile } from "./inner.ts";
import { type Interpreter, INTERPRETERS } from "./shells.ts";

/** Paths that stand for standard input. */
export const STDIN_PATHS: ReadonlySet<string> = new Set([
  "-",
  "/dev/stdin",
  "/dev/fd/0",
  "/proc/self/fd/0",
]);

/** Code of another language as inner code. */
export function codeText(text: string, language: string): Inner {
  return { kind: "code", flow: textFlow(text), language };
}

/** `python -c code`, `python file`, `python < input`, `perl -ne code -e more`. */
export function unwrapInterpreter(
  command: SimpleCommand,
  family: string,
  readFile: ReadFile,
): Inner[] {
  const how = INTERPRETERS.get(family);
  if (how === undefined) return [];
  if (how.windows) return unwrapPowershell(command, family);
  const { args } = command;
  const codes: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") continue;
    if (!arg.startsWith("-") || arg === "-") {
      if (i === 0 && arg === how.verb) continue;
      if (args[0] === how.verb) return [codeText(arg, family)];
      if (codes.length > 0) break;
      return STDIN_PATHS.has(arg) ? fromStdin(command, family) : fromFile(readFile(arg), family);
    }
    if (family === "python" && arg === "-m") return moduleCode(args.slice(i + 1));
    const found = codeOption(how, arg, args[i + 1]);
    if (found.code !== null) codes.push(found.code);
    if (found.takesNext) i++;
  }
  return codes.length > 0
    ? [codeText(codes.join("\n"), family)]
    : args[0] === how.verb && args.length > 0
    ? []
    : fromStdin(command, family);
}

function fromStdin({ stdin }: SimpleCommand, language: string): Inner[] {
  return stdin === null ? [] : [{ kind: "code", flow: stdin, language }];
}

function fromFile(flow: ReturnType<ReadFile>, language: string): Inner[] {
  return flow === null ? [] : [{ kind: "code", flow, language }];
}

/** What one option says: its code if it takes some, and whether the next argument belongs to it. */
function codeOption(
  how: Interpreter,
  arg: string,
  next: string | undefined,
): { code: string | null; takesNext: boolean } {
  const nothing = { code: null, takesNext: false };
  const equals = arg.indexOf("=");
  const name = equals < 0 ? arg : arg.slice(0, equals);
  if (how.long.includes(name)) {
    return equals < 0
      ? { code: next ?? null, takesNext: true }
      : { code: arg.slice(equals + 1), takesNext: false };
  }
  if (arg.startsWith("--")) return { ...nothing, takesNext: how.valuedLong.includes(arg) };
  for (let at = 1; at < arg.length; at++) {
    const letter = arg[at] ?? "";
    const rest = arg.slice(at + 1);
    if (how.letters.includes(letter)) {
      if (rest !== "" && how.attaches) return { code: rest, takesNext: false };
      return { code: next ?? null, takesNext: true };
    }
    if (how.valued.includes(letter)) return { ...nothing, takesNext: rest === "" };
    if (how.attached.includes(letter)) return nothing;
  }
  return nothing;
}

/** `python -m timeit code`; what other modules run is their own. */
function moduleCode(args: readonly string[]): Inner[] {
  if (args[0] !== "timeit") return [];
  return [codeText(args.slice(1).filter((arg) => !arg.startsWith("-")).join("\n"), "python")];
}

function unwrapPowershell(command: SimpleCommand, family: string): Inner[] {
  for (const [i, arg] of command.args.entries()) {
    const option = arg.toLowerCase();
    const value = command.args[i + 1];
    if (value === undefined || !POWERSHELL_CODE.has(option)) continue;
    const text = option.startsWith("-e")
      ? decodeBase64(value).replaceAll("\0", "")
      : command.args.slice(i + 1).join(" ");
    return [codeText(text, family)];
  }
  const at = command.args.findIndex((arg) => !arg.startsWith("-"));
  const first = command.args[at] ?? "";
  if (family === "powershell" && first.includes("-") && !first.toLowerCase().endsWith(".ps1")) {
    return [codeText(command.args.slice(at).join(" "), family)];
  }
  return fromStdin(command, family);
}

const POWERSHELL_CODE = new Set([
  "-command",
  "-c",
  "-encodedcommand",
  "-enc",
  "-ec",
  "-en",
  "-e",
]);

/** Awk's program is code: `system("…")`, `| "sh"`. */
export function unwrapAwk(command: SimpleCommand): Inner[] {
  for (let i = 0; i < command.args.length; i++) {
    const arg = command.args[i] ?? "";
    if (arg === "-F" || arg === "-v" || arg === "-f") {
      if (arg === "-f") return [];
      i++;
    } else if (!arg.startsWith("-")) return [codeText(arg, "awk")];
  }
  return [];
}

/** Code in the options of editors and debuggers, whose own languages can run programs; null for others. */
export function codeOptions(command: SimpleCommand): Inner[] | null {
  switch (command.name) {
    case "vi":
    case "vim":
    case "nvim":
    case "ex":
    case "view":
      return [
        ...optionValues(command, "-c", "--cmd", "-S"),
        ...command.args.filter((arg) => arg.startsWith("+")).map((arg) => arg.slice(1)),
      ].map((text) => codeText(text, "vim"));
    case "gdb":
    case "lldb":
      return debuggerTexts(command).map((text) => codeText(text, "python"));
    default:
      return null;
  }
}

/** What a debugger is told on its command line. */
export function debuggerTexts(command: SimpleCommand): string[] {
  return optionValues(command, "-ex", "--ex", "-iex", "--eval-command", "-o", "-O", "--one-line");
}
