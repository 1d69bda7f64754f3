import { writeFile } from "../../interpreter/scope.ts";
import type { SimpleCommand } from "../../model.ts";
import { hasFlag, operands, optionValues } from "../arguments.ts";
import { isWholeFolder } from "../bulk.ts";
import type { Family, FileNoter, Finder } from "../family.ts";

/** Notes that these files hold the output of a command. */
export const noteOutputIn = (find: Finder): FileNoter => (command, output, scope) => {
  for (const path of find(command)) writeFile(scope, path, output(), false);
};

/** The file behind `-f`, also in a bundle of letters without a dash: `tar czf file`. */
function tarFiles(command: SimpleCommand): string[] {
  const { args } = command;
  const cluster = args.findIndex((arg, i) =>
    !arg.startsWith("--") &&
    (i === 0 ? arg.includes("f") : arg.startsWith("-") && arg.endsWith("f"))
  );
  const bundled = cluster < 0 ? [] : args.slice(cluster + 1, cluster + 2);
  return [...bundled, ...optionValues(command, "--file")];
}

function tarCreates(command: SimpleCommand): boolean {
  const first = command.args[0] ?? "";
  return hasFlag(command, "c", "create") || (!first.startsWith("-") && first.includes("c"));
}

const packsFolder = (command: SimpleCommand): boolean =>
  operands(command).some((path) => isWholeFolder(command, path));

const TAR = {
  runs: (command: SimpleCommand) => [
    ...optionValues(command, "--checkpoint-action").map((value) =>
      value.startsWith("exec=") ? value.slice(5) : ""
    ),
    ...optionValues(
      command,
      "--to-command",
      "--use-compress-program",
      "-I",
      "--info-script",
      "--new-volume-script",
      "-F",
      "--rsh-command",
      "--rmt-command",
    ),
  ],
  descends: true,
  noteFiles: noteOutputIn(tarFiles),
  dumps: (command: SimpleCommand) => tarCreates(command) && packsFolder(command),
} as const;

/** Compressed files stand beside their originals, with a suffix of their own. */
export const noteSuffixed = (suffix: string): FileNoter =>
  noteOutputIn((command) => [
    ...optionValues(command, "-out", "-o", "--output", "--result-file", "--archive"),
    ...operands(command).map((path) => path + suffix),
  ]);

/** Archivers and compressors. */
export const ARCHIVES: readonly Family[] = [
  { names: ["tar"], ...TAR, reads: "shown", output: "decoded_by_option" },
  { names: ["gtar", "bsdtar"], ...TAR },
  {
    names: ["zip"],
    runs: (command) => optionValues(command, "-TT", "--unzip-command"),
    reads: "shown",
    descends: true,
    noteFiles: noteOutputIn((command) => operands(command).slice(0, 1)),
    dumps: packsFolder,
  },
  {
    names: ["7z"],
    reads: "shown",
    descends: true,
    noteFiles: noteOutputIn((command) => operands(command).slice(1, 2)),
    output: "decoded_by_option",
    dumps: packsFolder,
  },
  {
    names: ["rar"],
    noteFiles: noteOutputIn((command) => operands(command).slice(1, 2)),
    dumps: packsFolder,
  },
  {
    names: ["cpio"],
    runs: (command) => optionValues(command, "--rsh-command"),
    descends: true,
    dumps: packsFolder,
  },
  { names: ["pax"], descends: true, dumps: packsFolder },
  {
    names: ["gzip"],
    reads: "shown",
    descends: true,
    noteFiles: noteSuffixed(".gz"),
    output: "decoded_by_option",
  },
  { names: ["pigz"], noteFiles: noteSuffixed(".gz"), output: "decoded_by_option" },
  {
    names: ["bzip2"],
    reads: "shown",
    noteFiles: noteSuffixed(".bz2"),
    output: "decoded_by_option",
  },
  { names: ["xz"], reads: "shown", noteFiles: noteSuffixed(".xz"), output: "decoded_by_option" },
  {
    names: ["zstd"],
    reads: "shown",
    noteFiles: noteSuffixed(".zst"),
    output: "decoded_by_option",
  },
  { names: ["lzma", "lz4", "unzip"], output: "decoded_by_option" },
  { names: ["gunzip", "zcat"], reads: "shown", output: "decoded" },
  { names: ["zless"], reads: "shown" },
  {
    names: [
      "gzcat",
      "bunzip2",
      "bzcat",
      "unxz",
      "xzcat",
      "lzcat",
      "unzstd",
      "zstdcat",
      "unlzma",
      "funzip",
      "uncompress",
      "lz4cat",
      "brotli",
    ],
    output: "decoded",
  },
];
