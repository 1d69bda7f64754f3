import { optionValues } from "./arguments.ts";
import { flowText, NOTHING, type SimpleCommand, UNKNOWN } from "./command.ts";
import { type Inner, shellText } from "./inner.ts";
import { innerCommand } from "./wrappers.ts";

const XARGS = {
  short: "ILnPsdEaJRS",
  long: ["max-args", "max-procs", "max-lines", "max-chars", "delimiter", "arg-file", "eof"],
};

/** `… | xargs program`: what comes in becomes arguments. */
export function unwrapXargs(command: SimpleCommand): Inner[] {
  const found = innerCommand({
    verbs: [],
    short: XARGS.short,
    long: XARGS.long,
    skip: 0,
    mode: "argv",
    assigns: false,
  }, command.args);
  if (found === null) return [];
  const placeholder = optionValues(command, "-I", "--replace", "-J")[0] ??
    (command.args.some((arg) => arg === "-i" || arg === "--replace") ? "{}" : null);
  const flow = command.stdin ?? NOTHING;
  const incoming = flow.text === null ? [flowText(flow)] : splitInput(flow.text);
  if (placeholder === null || placeholder === "") {
    return [{ kind: "argv", argv: [...found.argv, ...incoming] }];
  }
  const whole = flow.text === null
    ? incoming
    : flow.text.split("\n").filter((line) => line.trim() !== "");
  return whole.slice(0, 16).map((item) => ({
    kind: "argv",
    argv: found.argv.map((arg) => arg.replaceAll(placeholder, () => item)),
  }));
}

/** Words that xargs would make of its input; quotes only group. */
function splitInput(text: string): string[] {
  const words: string[] = [];
  for (
    const word of text.replaceAll("'", "").replaceAll('"', "").split("\n").join(" ").split("\t")
      .join(" ").split(" ")
  ) {
    if (word !== "") words.push(word);
  }
  return words.slice(0, 256);
}

const FIND_NARROWERS = new Set([
  "-name",
  "-iname",
  "-path",
  "-ipath",
  "-wholename",
  "-regex",
  "-iregex",
  "-size",
  "-mtime",
  "-atime",
  "-ctime",
  "-mmin",
  "-amin",
  "-cmin",
  "-newer",
  "-user",
  "-group",
  "-perm",
  "-empty",
  "-links",
  "-inum",
  "-samefile",
  "-lname",
  "-nouser",
  "-nogroup",
  "-newermt",
  "-used",
]);

/** The places that find starts from, and the name that narrows it: null for none, UNKNOWN where it is no name. */
export function findScope(command: SimpleCommand): { starts: string[]; narrowed: string | null } {
  const starts: string[] = [];
  let narrowed: string | null = null;
  let expression = false;
  for (const [i, arg] of command.args.entries()) {
    if (arg.startsWith("-") && arg.length > 2 || arg === "(" || arg === "!") expression = true;
    if (!expression && !arg.startsWith("-")) starts.push(arg);
    if (!FIND_NARROWERS.has(arg)) continue;
    const value = command.args[i + 1] ?? UNKNOWN;
    narrowed = (arg === "-name" || arg === "-iname") && value !== "*"
      ? value
      : narrowed ?? (value === "*" ? null : UNKNOWN);
  }
  return { starts: starts.length === 0 ? ["."] : starts, narrowed };
}

/** `find … -exec program {} ;`. */
export function unwrapFind(command: SimpleCommand): Inner[] {
  const { starts, narrowed } = findScope(command);
  const targets = starts.map((start) => narrowed === null ? start : `${start}/${narrowed}`);
  const inner: Inner[] = [];
  for (const [i, arg] of command.args.entries()) {
    if (!FIND_ACTIONS.has(arg)) continue;
    const rest = command.args.slice(i + 1);
    const end = rest.findIndex((word, at) =>
      word === ";" || (word === "+" && rest[at - 1] === "{}")
    );
    const argv = end < 0 ? rest : rest.slice(0, end);
    inner.push({ kind: "argv", argv: argv.flatMap((word) => fill(word, targets)) });
  }
  return inner;
}

const FIND_ACTIONS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

function fill(word: string, targets: readonly string[]): string[] {
  if (word === "{}") return [...targets];
  return [word.includes("{}") ? word.replaceAll("{}", () => targets[0] ?? UNKNOWN) : word];
}

export function unwrapFd(command: SimpleCommand): Inner[] {
  const at = command.args.findIndex((arg) =>
    arg === "-x" || arg === "-X" || arg === "--exec" || arg === "--exec-batch"
  );
  if (at < 0) return [];
  const argv = command.args.slice(at + 1).map((word) => word.replaceAll("{}", `./${UNKNOWN}`));
  if (!command.args.slice(at + 1).some((word) => word.includes("{"))) argv.push(`./${UNKNOWN}`);
  return [{ kind: "argv", argv }];
}

/** `parallel program ::: a b`: arguments or lines of input fill `{}`. */
export function unwrapParallel(command: SimpleCommand): Inner[] {
  const marks = command.args.findIndex((arg) => arg.startsWith(":::"));
  const front = marks < 0 ? command.args : command.args.slice(0, marks);
  const given = marks < 0
    ? []
    : command.args.slice(marks + 1).filter((arg) => !arg.startsWith(":::"));
  const found = innerCommand(
    {
      verbs: [],
      short: "jPnNLaSIdEC",
      long: ["jobs", "max-args", "delay", "timeout", "joblog", "colsep", "results", "retries"],
      skip: 0,
      mode: "argv",
      assigns: false,
    },
    front,
  );
  const flow = command.stdin;
  const lines = marks >= 0
    ? given
    : flow === null
    ? []
    : flow.text === null
    ? [flowText(flow)]
    : flow.text.split("\n").filter((line) => line !== "");
  const template = found?.argv.join(" ") ?? "";
  if (lines.length === 0) return template === "" ? [] : [shellText(template)];
  return lines.slice(0, 16).map((line) =>
    shellText(
      template === ""
        ? line
        : template.includes("{}")
        ? template.replaceAll("{}", () => line)
        : `${template} ${line}`,
    )
  );
}
