/** Programs that run shell text: given with `-c`, in a file, or on standard input. */
export const SHELLS: ReadonlySet<string> = new Set([
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
  "su",
]);

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

/** Programs that run code of another language, and how they take it. */
export const INTERPRETERS: ReadonlyMap<string, Interpreter> = new Map([
  ["python", PYTHON],
  ["pypy", PYTHON],
  ["perl", takes("eE", { valued: "I", attached: "FixDC", imports: "Mm" })],
  ["ruby", takes("e", { valued: "ICr", attached: "EFKTWx" })],
  ["node", NODE],
  ["nodejs", NODE],
  ["bun", NODE],
  ["deno", takes("", { verb: "eval" })],
  ["crystal", takes("", { verb: "eval" })],
  ["php", takes("rBRE", { valued: "dcfFStz" })],
  ["lua", takes("e", { valued: "l" })],
  ["luajit", takes("e", { valued: "l" })],
  ["osascript", takes("e", { valued: "ls" })],
  ["tclsh", takes("c")],
  ["expect", takes("c")],
  ["groovy", takes("e")],
  ["scala", takes("e")],
  ["julia", takes("eE", { long: ["--eval", "--print"] })],
  ["rscript", takes("e")],
  ["r", takes("e")],
  ["octave", takes("", { long: ["--eval"] })],
  ["elixir", takes("e", { long: ["--eval"] })],
  ["erl", takes("", { long: ["-eval"] })],
  ["ghc", takes("e")],
  ["ocaml", takes("e")],
  ["clojure", takes("e", { long: ["--eval"] })],
  ["clj", takes("e", { long: ["--eval"] })],
  ["swipl", takes("gt")],
  ["gnuplot", takes("e")],
  ["maxima", takes("", { long: ["--batch-string"] })],
  ["guile", takes("c")],
  ["racket", takes("e")],
  ["raku", takes("e")],
  ["sbcl", takes("", { long: ["--eval"] })],
  ["emacs", takes("", { long: ["--eval", "-eval", "--execute", "-execute"] })],
  ["emacsclient", takes("e", { long: ["--eval"] })],
  ["jshell", takes("")],
  ["kotlin", takes("e")],
  ["matlab", takes("r", { long: ["-batch"] })],
  ["swift", takes("e")],
  ["wolframscript", takes("c", { long: ["-code"] })],
  ["awk", AWK],
  ["gawk", AWK],
  ["mawk", AWK],
  ["nawk", AWK],
  ["original-awk", AWK],
  ["sed", SED],
  ["pwsh", takes("", { windows: true })],
  ["powershell", takes("", { windows: true })],
]);

/** The interpreter's family: `python3.12` is `python`; null for other programs. */
export function interpreterOf(name: string): string | null {
  let end = name.length;
  while (end > 0 && "0123456789.-".includes(name[end - 1] ?? "")) end--;
  const family = name.slice(0, end);
  return INTERPRETERS.has(family) ? family : null;
}
