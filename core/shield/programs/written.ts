import { hasFlag, operands, optionValues } from "./arguments.ts";
import type { SimpleCommand } from "../model.ts";

/** Where each of these programs writes: its last operand, every one, or what an option names. */
const WRITES: ReadonlyMap<string, (command: SimpleCommand) => readonly string[]> = new Map([
  ...["tee", "sponge"].map((name) =>
    [name, (command: SimpleCommand) => operands(command)] as const
  ),
  ...["cp", "mv", "install", "ln", "scp", "rsync"].map((name) => [name, lastOperand] as const),
  ...["sed", "gsed"].map((name) => [name, editedBySed] as const),
  ["perl", (command) => hasFlag(command, "i", "in-place") ? lastOperand(command) : []],
  [
    "gawk",
    (command) =>
      optionValues(command, "-i", "--include").includes("inplace")
        ? operands(command).slice(1)
        : [],
  ],
  ["dd", ({ args }) => args.filter((arg) => arg.startsWith("of=")).map((arg) => arg.slice(3))],
  ["curl", (command) =>
    [
      ...optionValues(
        command,
        "-o",
        "-c",
        "-D",
        "--output",
        "--cookie-jar",
        "--dump-header",
        "--trace",
        "--trace-ascii",
        "--stderr",
      ),
      ...within(optionValues(command, "--output-dir")),
    ].filter(isPath)],
  ["wget", (command) =>
    [
      ...optionValues(command, "-O", "-o", "-a", "--output-document", "--output-file"),
      ...optionValues(command, "--append-output", "--save-cookies"),
      ...within(optionValues(command, "-P", "--directory-prefix")),
    ].filter(isPath)],
  ["aria2c", (command) => [
    ...optionValues(command, "-o", "--out", "-l", "--log"),
    ...within(optionValues(command, "-d", "--dir")),
  ]],
  ["patch", (command) => [
    ...operands(command).slice(0, 1),
    ...optionValues(command, "-o", "--output"),
    ...within(optionValues(command, "-d", "--directory")),
  ]],
  ...["find", "gfind"].map((name) =>
    [
      name,
      ({ args }: SimpleCommand) => args.filter((_, at) => FIND_FILES.has(args[at - 1] ?? "")),
    ] as const
  ),
]);

const FIND_FILES = new Set(["-fprint", "-fprint0", "-fprintf", "-fls"]);

/** The file that is edited in place, and those that its script writes: `1w /etc/x`, `s/a/b/w /etc/x`. */
function editedBySed(command: SimpleCommand): readonly string[] {
  const files = command.args.flatMap((arg) => SED_WRITE.exec(arg)?.[1] ?? []);
  return hasFlag(command, "i", "in-place") ? [...files, ...lastOperand(command)] : files;
}

const SED_WRITE = /(?:^|[^\w])\d*[gpeIiMm]*[wW]\s+(\S+)/;

function lastOperand(command: SimpleCommand): readonly string[] {
  return operands(command).slice(-1);
}

/** A file of any name in these folders. */
const within = (folders: readonly string[]) => folders.map((folder) => `${folder}/x`);

/** `-` is standard output. */
const isPath = (value: string) => value.length > 1;

/** Programs that write to files which they name. */
export const WRITERS: readonly string[] = [...WRITES.keys()];

/** The files that a program writes by its own arguments. */
export function writtenPaths(command: SimpleCommand): readonly string[] {
  return WRITES.get(command.name)?.(command) ?? [];
}
