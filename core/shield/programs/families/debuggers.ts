import { codeText } from "../../code/unwrap_code.ts";
import type { SimpleCommand } from "../../model.ts";
import { optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { afterOption } from "../texts.ts";

/** The commands that a debugger gets on its command line. */
const debuggerTexts = (command: SimpleCommand): string[] =>
  optionValues(command, "-ex", "--ex", "-iex", "--eval-command", "-o", "-O", "--one-line");

const DEBUGGER_SHELL = /^\s*(?:!|(?:platform )?shell\s)(.*)/;

/** Programs that run others to watch or measure them. */
export const DEBUGGERS: readonly Family[] = [
  {
    names: ["gdb", "lldb"],
    runs: (command) =>
      [...debuggerTexts(command), ...(command.stdin?.text ?? "").split("\n")]
        .flatMap((text) => DEBUGGER_SHELL.exec(text)?.[1] ?? [])
        .concat(afterOption(command, "--args")),
    codes: (command) => debuggerTexts(command).map((text) => codeText(text, "python")),
    scripted: true,
  },
  { names: ["strace"], wrappers: [{ short: "abeEIoOpPsSuUX" }] },
  { names: ["ltrace"], wrappers: [{ short: "abeloDnpsuwxFA" }] },
  { names: ["catchsegv", "heaptrack", "rr"], wrappers: [{}] },
  { names: ["valgrind"], wrappers: [{ short: "Dcumn", long: "directory" }] },
  {
    names: ["perf"],
    wrappers: [
      { verbs: "stat", short: "eorCptI" },
      { verbs: "record", short: "eorCptcF" },
      { verbs: "trace", short: "eop" },
    ],
  },
];
