import { known } from "../../model.ts";
import type { Family, Printer } from "../family.ts";
import { printsNothing, printsOperand, printsVariables } from "../flows.ts";

/** Without arguments they list variables. */
const declares: Printer = (command, incoming, readFile) =>
  command.args.length > 0 ? known("") : printsVariables(command, incoming, readFile);

/** Builtins of shells; `shells.ts` describes those that run text. */
export const BUILTIN_PROGRAMS: readonly Family[] = [
  {
    names: [
      "cd",
      "popd",
      "pushd",
      "readonly",
      "test",
      "[",
      "true",
      "typeset",
      "unset",
      "local",
      ":",
    ],
    looks: true,
    prints: printsNothing,
  },
  {
    names: ["exit", "false", "read", "return", "shift", "umask", "wait"],
    prints: printsNothing,
  },
  { names: ["declare", "export", "set"], looks: true, prints: declares },
  { names: ["history"], prints: printsVariables },
  { names: ["[[", "chdir"], looks: true },
  {
    names: ["type"],
    // On Windows it shows a file.
    reads: ({ args }) => args.filter((arg) => /^[A-Za-z]:/.test(arg)),
    looks: true,
    prints: printsOperand,
  },
  { names: ["exec"], wrappers: [{ short: "a" }] },
  { names: ["builtin", "noglob", "nocorrect"], wrappers: [{}] },
];
