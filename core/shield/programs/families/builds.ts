import { codeText } from "../../code/unwrap_code.ts";
import type { ReadFile } from "../../interpreter/inner.ts";
import type { SimpleCommand } from "../../model.ts";
import { hasFlag, operands, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { afterFirst, afterOption, valuesIn, valuesOf } from "../texts.ts";

/** Command lines in the variables and rules that make is given. */
const makeTexts = (command: SimpleCommand, readFile: ReadFile): string[] =>
  [
    ...command.args.flatMap(makeVariable),
    ...optionValues(command, "--eval", "-E"),
    ...optionValues(command, "-f", "--file").flatMap((path) =>
      ((path === "-" ? command.stdin : readFile(path))?.text ?? "").split("\n")
    ),
  ].map((line) => line.slice(line.indexOf(":") + 1).replaceAll(";", "\n"));

/** `make X='$(shell text)'`, and the shell that make hands each line to. */
function makeVariable(arg: string): string[] {
  if (arg.startsWith("SHELL=")) return [afterFirst(arg, "=")];
  const at = arg.indexOf("$(shell ");
  return at < 0 ? [] : [arg.slice(at + 8, arg.lastIndexOf(")"))];
}

/** `cmake -E remove folder`. */
const cmakeTool = (command: SimpleCommand): string[] => [
  afterOption(command, "-E")
    .replace(/^'?remove_directory'?/, "rm -r").replace(/^'?remove'?(?= )/, "rm"),
];

const HYPERFINE_VALUED = new Set(["-w", "--warmup", "-r", "--runs", "-N", "-n", "-L", "-S"]);

const COMPILED = ["gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "ld", "tcc", "gfortran"];

/** Build tools, compilers, and programs that run others when files change. */
export const BUILDS: readonly Family[] = [
  { names: ["make", "gmake"], runs: makeTexts },
  { names: ["cmake"], runs: cmakeTool },
  {
    names: ["gcc", "g++", "cc", "c++"],
    runs: (command) => optionValues(command, "-wrapper").map((value) => value.replaceAll(",", " ")),
  },
  {
    names: ["go"],
    codes: (command, readFile) =>
      operands(command).flatMap((path) => {
        const text = path.endsWith(".go") ? readFile(path)?.text ?? "" : "";
        return text === "" ? [] : [codeText(text, "go")];
      }),
    runs: ["-toolexec", "-exec", "-vettool"],
  },
  { names: [...COMPILED, "go", "dotnet", "esbuild"], writes: valuesOf("-o", "--outfile") },
  { names: ["javac", "kotlinc"], writes: valuesIn("-d") },
  { names: ["tsc"], writes: valuesIn("--outDir", "--outFile") },
  { names: ["cargo"], writes: valuesIn("--root", "--target-dir", "--out-dir", "--artifact-dir") },
  { names: ["just"], runs: (command) => [afterOption(command, "--command", "-c")] },
  {
    names: ["hyperfine"],
    runs: (command) => [
      ...operands(command, HYPERFINE_VALUED),
      ...optionValues(command, "-p", "--prepare", "-c", "--cleanup", "-s", "--setup"),
    ],
  },
  { names: ["concurrently"], runs: (command) => operands(command) },
  { names: ["nodemon"], runs: ["-x", "--exec"] },
  { names: ["chokidar"], runs: ["-c", "--command"] },
  {
    names: ["entr"],
    wrappers: [{}],
    runs: (command) => hasFlag(command, "s") ? [operands(command).join(" ")] : [],
  },
  {
    names: ["watchexec"],
    wrappers: [{
      short: "ewifdsEo",
      long:
        "exts watch ignore filter debounce stop-signal signal delay-run shell on-busy-update workdir env",
      mode: "shell",
    }],
  },
  { names: ["reflex"], wrappers: [{}] },
  {
    names: ["foreman", "honcho"],
    wrappers: [{ verbs: "run", short: "fe", long: "procfile env" }],
  },
  // These bring the programs of a shell to systems without one: `shx rm -rf x`.
  { names: ["shx", "shelljs", "cash"], wrappers: [{}] },
];
