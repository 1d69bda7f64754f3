/** Names by which code starts a program. */
export const RUNNERS: ReadonlySet<string> = new Set([
  "system",
  "popen",
  "exec",
  "execsync",
  "execfile",
  "execfilesync",
  "spawn",
  "spawnsync",
  "spawnl",
  "spawnlp",
  "spawnlpe",
  "spawnv",
  "spawnve",
  "spawnvp",
  "spawnvpe",
  "posix_spawn",
  "posix_spawnp",
  "create_subprocess_shell",
  "create_subprocess_exec",
  "exec_command",
  "execl",
  "execlp",
  "execle",
  "execv",
  "execve",
  "execvp",
  "execvpe",
  "subprocess",
  "check_output",
  "check_call",
  "getoutput",
  "getstatusoutput",
  "shell_exec",
  "passthru",
  "proc_open",
  "pcntl_exec",
  "qx",
  "open3",
  "capture2",
  "capture3",
  "pty",
  "child_process",
  "os.execute",
  "io.popen",
  "doshellscript",
  "start-process",
  "invoke-expression",
  "iex",
  "processbuilder",
  "deno.command",
  "shell-command",
  "shell-command-to-string",
  "async-shell-command",
  "call-process",
  "systemlist",
  "termopen",
  "jobstart",
]);

/** Names that start a program only in some languages, or where one of these modules is in play: `run`, `call`. */
export const MAY_RUN: ReadonlySet<string> = new Set([
  "subprocess",
  "child_process",
  "deno",
  "bun",
  "sh",
  "runtime",
  "cmd",
  "command",
  "shell",
  "callcommand",
  "readprocess",
  "run-program",
  "sys.process._",
]);

/** Whether code calls something by this name to start a program: `exec` is Python's for code, and JavaScript's for patterns. */
function isCall(dotted: string, language: string, names: ReadonlySet<string>): boolean {
  const name = dotted.slice(Math.max(dotted.lastIndexOf("."), dotted.lastIndexOf(":")) + 1);
  if (name === "run" || name === "call") {
    return names.has("subprocess") && dotted !== "asyncio.run";
  }
  if (name === "exec" || name === "spawn") {
    if (PYTHONS.has(language)) return dotted === "pty.spawn";
    return !SCRIPTS.has(language) || names.has("child_process") || names.has("bun");
  }
  return RUNNERS.has(dotted) || (RUNNERS.has(name) && !MODULES.has(name));
}

const PYTHONS = new Set(["python", "pypy"]);
const SCRIPTS = new Set(["node", "nodejs", "bun", "deno"]);
const MODULES = new Set(["subprocess", "child_process", "pty", "open3", "qx"]);

/** Whether the name that ends here starts a program with anything but one literal, or a list of literals. */
export function runsComputed(
  code: string,
  [from, end]: readonly [number, number],
  language: string,
  names: ReadonlySet<string>,
): boolean {
  const name = code.slice(from, end).toLowerCase();
  if (!isCall(name, language, names)) return false;
  const bare = BARE.has(language);
  const opening = matchAt(bare ? BARE_OPENING : OPENING, code, end);
  // `run = os.system` gives the runner another name.
  if (opening === null) return PYTHONS.has(language) && name.includes(".");
  let at = end + opening.length;
  if (matchAt(NOTHING_GIVEN, code, at) !== null) return false;
  for (;;) {
    if (!startsLiteral(code, at)) return true;
    at += matchAt(LITERAL, code, at)?.length ?? 0;
    // Perl and Ruby take the words of a command one by one.
    const comma = bare ? matchAt(COMMA, code, at) : null;
    if (comma === null) return false;
    at += comma.length;
  }
}

/** Whether one literal stands here, or a list of them, which nothing changes. */
export function startsLiteral(code: string, at: number): boolean {
  const literal = matchAt(LITERAL, code, at);
  return literal !== null && !INTERPOLATED.test(literal);
}

function matchAt(pattern: RegExp, code: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(code)?.[0] ?? null;
}

const TEXT =
  "(?:[rRbBuU]{0,2}\"(?:[^\"\\\\]|\\\\.)*\"|[rRbBuU]{0,2}'(?:[^'\\\\]|\\\\.)*'|`[^`\\\\]*`)";
const LIST = `[\\[({]\\s*(?:${TEXT}\\s*(?:,\\s*)?)*[\\])}]`;
/** The longest list that is read; the scan does not skip lists, so each may be read again. */
const ANY = "{0,1000}";
const BARE_WORDS =
  `\\*?(?:q[qw]?|%[wq])\\s?(?:\\([^)]${ANY}\\)|\\{[^}]${ANY}\\}|\\[[^\\]]${ANY}\\]|<[^>]${ANY}>|([^\\w\\s]).${ANY}?\\1)`;
/** What may follow a literal that stays as it is. */
const AFTER = "\\s*(?:$|[,)\\]};\\n]|&&|\\|\\||(?:or|and|if|unless)\\b)";
const LITERAL = new RegExp(`\\s*(?:${TEXT}|${LIST}|${BARE_WORDS}(?!\\s*,))(?=${AFTER})`, "y");
const OPENING = /[ ]?\(/y;
const BARE_OPENING = /\s*\(|[ ]+(?![=.,|&?:<>)\]}-])|(?=[$@*])/y;
/** Ruby's options are named: `exception: true`. */
const COMMA = /\s*,(?!\s*\w+:)/y;
const NOTHING_GIVEN = /\s*(?:$|[;)\]}])/y;
/** Languages whose calls need no brackets. */
const BARE = new Set(["perl", "ruby"]);
/** Parts of a literal that are code; a variable in it is judged as one of the shell. */
const INTERPOLATED = /^\s*`.*\$\{|#\{/s;
