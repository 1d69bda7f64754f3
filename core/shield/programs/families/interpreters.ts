import { codeText, type Interpreter, unwrapSed } from "../../code/unwrap_code.ts";
import type { Inner } from "../../interpreter/inner.ts";
import type { SimpleCommand } from "../../model.ts";
import { hasFlag, operands, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { sedScanOf } from "../../code/sed.ts";
import { printsSettings } from "../flows.ts";
import { lastOperand } from "../texts.ts";

function takes(letters: string, more: Partial<Interpreter> = {}): Interpreter {
  return {
    letters,
    long: [],
    valued: "",
    attached: "",
    valuedLong: [],
    attaches: true,
    verb: null,
    windows: false,
    imports: "",
    modules: "",
    files: "",
    longFiles: [],
    operand: false,
    ...more,
  };
}

const NODE = takes("ep", {
  long: ["--eval", "--print"],
  valued: "rC",
  valuedLong: ["--require", "--import", "--loader", "--conditions", "--env-file"],
  attaches: false,
});
const PYTHON = takes("c", { valued: "WX", modules: "m" });
const AWK = takes("e", {
  long: ["--source"],
  valued: "vFilE",
  valuedLong: ["--assign", "--field-separator", "--include", "--load"],
  files: "f",
  longFiles: ["--file"],
  operand: true,
});
const SED = takes("e", {
  long: ["--expression"],
  valued: "l",
  attached: "i",
  valuedLong: ["--line-length"],
  files: "f",
  longFiles: ["--file"],
  operand: true,
});

/** The file that sed edits in place, and those that its script writes: `1w /etc/x`, `s/a/b/w /etc/x`. */
function editedBySed(command: SimpleCommand): readonly string[] {
  const scripts = optionValues(command, "-e", "--expression");
  const script = scripts.length > 0 ? scripts.join("\n") : operands(command)[0] ?? "";
  const { files } = sedScanOf(command, script);
  return hasFlag(command, "i", "in-place") ? [...files, ...lastOperand(command)] : files;
}

/** `iex code`, or code on its input. */
function unwrapExpression({ stdin, args }: SimpleCommand): Inner[] {
  return [
    stdin === null
      ? codeText(args.join(" "), "powershell")
      : { kind: "code", flow: stdin, language: "powershell" },
  ];
}

/** Programs that run code of another language. */
export const INTERPRETERS: readonly Family[] = [
  { names: ["python", "pypy"], interpreter: PYTHON },
  {
    names: ["perl"],
    interpreter: takes("eE", { valued: "I", attached: "FixDC", imports: "Mm" }),
    prints: printsSettings,
    writes: (command) => hasFlag(command, "i", "in-place") ? lastOperand(command) : [],
  },
  { names: ["irb", "ruby"], interpreter: takes("e", { valued: "ICr", attached: "EFKTWx" }) },
  {
    names: ["ruby"],
    writes: (command) => hasFlag(command, "i") ? lastOperand(command) : [],
  },
  { names: ["node", "nodejs", "bun"], interpreter: NODE },
  { names: ["deno", "crystal"], interpreter: takes("", { verb: "eval" }) },
  { names: ["php"], interpreter: takes("rBRE", { valued: "dcfFStz" }) },
  { names: ["lua", "luajit"], interpreter: takes("e", { valued: "l" }) },
  { names: ["osascript"], interpreter: takes("e", { valued: "ls" }) },
  { names: ["tclsh", "expect", "guile"], interpreter: takes("c") },
  {
    names: [
      "groovy",
      "scala",
      "rscript",
      "r",
      "ghc",
      "ocaml",
      "gnuplot",
      "racket",
      "raku",
      "kotlin",
      "swift",
    ],
    interpreter: takes("e"),
  },
  { names: ["julia"], interpreter: takes("eE", { long: ["--eval", "--print"] }) },
  { names: ["octave", "sbcl"], interpreter: takes("", { long: ["--eval"] }) },
  {
    names: ["elixir", "clojure", "clj", "emacsclient"],
    interpreter: takes("e", { long: ["--eval"] }),
  },
  { names: ["erl"], interpreter: takes("", { long: ["-eval"] }) },
  { names: ["swipl"], interpreter: takes("gt") },
  { names: ["maxima"], interpreter: takes("", { long: ["--batch-string"] }) },
  {
    names: ["emacs"],
    interpreter: takes("", { long: ["--eval", "-eval", "--execute", "-execute"] }),
  },
  { names: ["jshell"], interpreter: takes("") },
  { names: ["jrunscript"], interpreter: takes("e") },
  { names: ["matlab"], interpreter: takes("r", { long: ["-batch"] }) },
  { names: ["wolframscript"], interpreter: takes("c", { long: ["-code"] }) },
  { names: ["mawk", "nawk", "original-awk"], interpreter: AWK },
  { names: ["awk"], interpreter: AWK, reads: "shown" },
  { names: ["gawk"], interpreter: AWK },
  {
    names: ["awk", "gawk"],
    writes: (command) =>
      optionValues(command, "-i", "--include").includes("inplace")
        ? operands(command).slice(1)
        : [],
  },
  {
    names: ["sed"],
    interpreter: SED,
    unwrap: (command, readFile) => unwrapSed(command, SED, readFile),
    reads: "shown",
    writes: editedBySed,
    scripted: true,
  },
  { names: ["pwsh", "powershell"], interpreter: takes("", { windows: true }) },
  {
    names: ["gsed"],
    unwrap: (command, readFile) => unwrapSed(command, SED, readFile),
    writes: editedBySed,
    scripted: true,
  },
  { names: ["iex", "invoke-expression"], unwrap: unwrapExpression },
];
