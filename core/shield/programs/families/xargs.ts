import { decodeEscapes } from "../../code/decode.ts";
import { type Inner, quoteWord, shellText } from "../../interpreter/inner.ts";
import { flowText, LISTED, newCommand, NOTHING, type SimpleCommand } from "../../model.ts";
import { hasFlag, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { checkCount, checkFilling } from "../filling.ts";
import { innerCommand, wrapperOf } from "../wrapper.ts";

const XARGS_OPTIONS = {
  short: "ILnPsdEaJRS",
  long: "max-args max-procs max-lines max-chars delimiter arg-file eof",
};
const XARGS = wrapperOf(XARGS_OPTIONS);
const PARALLEL_OPTIONS = {
  short: "jPnNLaSIdEC",
  long:
    "jobs max-args delay timeout joblog colsep results retries arg-file sshlogin sshloginfile slf workdir basefile transferfile tagstring",
};
const PARALLEL = wrapperOf(PARALLEL_OPTIONS);

/** `… | xargs program`: what comes in becomes arguments. */
function unwrapXargs(command: SimpleCommand): Inner[] {
  const found = innerCommand(XARGS, command.args);
  if (found === null) return [];
  // `-i` behind the program is the program's own: `xargs sed -i`.
  const own = newCommand({ ...command, args: command.args.slice(0, -found.argv.length) });
  const placeholder = optionValues(own, "-I", "--replace", "-J")[0] ??
    (own.args.some((arg) => arg === "-i" || arg === "--replace") ? "{}" : null);
  const flow = command.stdin ?? NOTHING;
  const incoming = flow.paths ??
    (flow.text === null ? [flowText(flow)] : splitItems(flow.text, command));
  if (placeholder === null || placeholder === "") {
    return [{ kind: "argv", argv: [...found.argv, ...incoming] }];
  }
  const whole = flow.paths !== undefined || flow.text === null
    ? incoming
    : flow.text.split("\n").filter((line) => line.trim() !== "");
  checkFilling(found.argv.join(" "), placeholder, whole);
  return whole.map((item) => ({
    kind: "argv",
    argv: found.argv.map((arg) => arg.replaceAll(placeholder, () => item)),
  }));
}

/** The items that xargs makes of its input: pieces between a given delimiter, or words. */
function splitItems(text: string, command: SimpleCommand): readonly string[] {
  // NUL marks an unknown part here, so a text with NUL between its items counts as one item.
  if (hasFlag(command, "0", "null")) return [text];
  const delimiter = optionValues(command, "-d", "--delimiter")[0];
  if (delimiter === undefined || delimiter === "") return splitInput(text);
  return checkCount(text.split(decodeEscapes(delimiter)).filter((item) => item !== ""));
}

/** Words that xargs would make of its input; quotes only group. */
function splitInput(text: string): readonly string[] {
  const words: string[] = [];
  for (
    const word of text.replaceAll("'", "").replaceAll('"', "").split("\n").join(" ").split("\t")
      .join(" ").split(" ")
  ) {
    if (word !== "") words.push(word);
  }
  return checkCount(words);
}

/** `parallel program ::: a b`: arguments or lines of input fill `{}`. */
function unwrapParallel(command: SimpleCommand): Inner[] {
  const marks = command.args.findIndex((arg) => arg.startsWith(":::"));
  const front = marks < 0 ? command.args : command.args.slice(0, marks);
  const given = marks < 0
    ? []
    : command.args.slice(marks + 1).filter((arg) => !arg.startsWith(":::"));
  const found = innerCommand(PARALLEL, front);
  // It prints the commands, and runs none.
  const own = front.slice(0, front.length - (found?.argv.length ?? 0));
  if (own.some((arg) => arg === "--dry-run" || arg === "--dryrun")) return [];
  if (found !== null && own.some((arg) => arg === "--pipe" || arg === "--spreadstdin")) {
    return [{ kind: "argv", argv: found.argv }];
  }
  const flow = command.stdin;
  const isListed = command.args[marks]?.startsWith("::::") ||
    optionValues(command, "-a", "--arg-file").length > 0;
  const lines = isListed
    ? [LISTED]
    : marks >= 0
    ? given
    : flow === null
    ? []
    : flow.text === null
    ? [flowText(flow)]
    : flow.text.split("\n").filter((line) => line !== "");
  const template = found?.argv.join(" ") ?? "";
  if (lines.length === 0) return template === "" ? [] : [shellText(template)];
  const filled = template.includes("{}") ? template : `${template} {}`;
  checkFilling(filled, "{}", lines);
  return lines.flatMap((line) => {
    if (template === "") return [shellText(line)];
    // It quotes what it fills in, which is one word for `sh -c`; in quotes of the template it is several.
    const forms = line.includes(" ") ? [line, quoteWord(line)] : [line];
    return forms.map((word) => shellText(filled.replaceAll("{}", () => word)));
  });
}

/** `ForEach-Object { program $_ }`, `Invoke-Command web1 { program }`: the block runs for each object or machine. */
function unwrapBlock({ args }: SimpleCommand): Inner[] {
  const at = args.findIndex((arg) => arg.startsWith("{"));
  if (at < 0) return [];
  const words = [args[at]!.slice(1), ...args.slice(at + 1)].map((word) => word.replace(/\}$/, ""));
  const argv = words.filter((word) => word !== "");
  // `{ $_.Name }` reads a property, and runs nothing.
  return /^[\w-]+$/.test(argv[0] ?? "") ? [{ kind: "argv", argv }] : [];
}

/** Programs that make arguments of their input. */
export const XARGS_PROGRAMS: readonly Family[] = [
  {
    names: ["xargs"],
    wrappers: [XARGS_OPTIONS],
    unwrap: unwrapXargs,
    takesInput: true,
    reads: (command) => optionValues(command, "-a", "--arg-file"),
  },
  {
    names: [
      "%",
      "foreach-object",
      "icm",
      "invoke-command",
      "measure-command",
      "start-job",
      "start-threadjob",
      "where-object",
    ],
    unwrap: unwrapBlock,
  },
  { names: ["gxargs"], unwrap: unwrapXargs, takesInput: true },
  {
    names: ["sem"],
    wrappers: [{
      short: "jPS",
      long: "id semaphore-name jobs max-procs timeout",
      mode: "shell",
    }],
  },
  { names: ["parallel"], wrappers: [PARALLEL_OPTIONS], unwrap: unwrapParallel },
];
