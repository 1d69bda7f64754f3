import { writeFile } from "../../interpreter/scope.ts";
import type { SimpleCommand } from "../../model.ts";
import { hasFlag, operands, optionValues } from "../arguments.ts";
import { isWholeFolder } from "../bulk.ts";
import { locate } from "../paths.ts";
import type { Family, FileNoter, Finder } from "../family.ts";
import { lastOperand, valuesIn, within } from "../texts.ts";

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

/** The paths that a command reads from its input. */
const listed = ({ stdin }: SimpleCommand): readonly string[] =>
  stdin?.paths ?? stdin?.text?.split(/[\n\0]/) ?? [];

/** Options whose value is the next word, and no member. */
const TAR_VALUED = /^(?:-\w*[fTX]|--file|--files-from|--exclude|--exclude-from)$/;
/** `-C folder` and `--directory=folder`, with the folder or before it. */
const TAR_FOLDER = /^(?:-\w*C|--directory(?:=|$))(.*)$/s;
/** A path is no longer than this. */
const PATH_MAX = 4_096;

/** What tar packs; each `-C` holds for the members behind it. */
function tarMembers(command: SimpleCommand): readonly string[] {
  const { args } = command;
  const isPacking = tarCreates(command) || hasFlag(command, "ru", "append", "update") ||
    /^[ru]/.test(args[0] ?? "");
  if (!isPacking) return [];
  const members = optionValues(command, "-T", "--files-from").includes("-") ? listed(command) : [];
  return [...members, ...namedMembers(args)];
}

/** Whether tar changes its folder more than once: the last one counts for what follows. */
export const changesFolders = (command: SimpleCommand): boolean =>
  command.args.filter((arg) => TAR_FOLDER.test(arg)).length > 1;

/** The folders into which tar puts something: the last, and each with members of its own. */
export function tarFolders({ args }: SimpleCommand): readonly string[] {
  const folders: string[] = [];
  let folder = ".";
  const bundle = args[0]?.startsWith("-") === false ? args[0] : "";
  for (let at = bundle === "" ? 0 : bundle.includes("f") ? 2 : 1; at < args.length; at++) {
    const arg = args[at]!;
    const [, value] = TAR_FOLDER.exec(arg) ?? [];
    if (value !== undefined) {
      const next = value === "" ? args[++at] ?? "" : value;
      folder = locate(folder.length > PATH_MAX ? "." : folder, next);
    } else if (TAR_VALUED.test(arg)) at++;
    else if (!arg.startsWith("-")) folders.push(folder);
  }
  return [...folders, folder];
}

function namedMembers(args: readonly string[]): string[] {
  const members: string[] = [];
  let folder = ".";
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const [, value] = TAR_FOLDER.exec(arg) ?? [];
    if (value !== undefined) {
      const next = value === "" ? args[++at] ?? "" : value;
      folder = locate(folder.length > PATH_MAX ? "." : folder, next);
    } else if (TAR_VALUED.test(arg)) at++;
    else if (!arg.startsWith("-")) members.push(locate(folder, arg));
  }
  return members;
}

const packsFolder = (command: SimpleCommand): boolean =>
  operands(command).some((path) => isWholeFolder(command, path));

/** `7z a archive folder`. */
const sevenZipped: Finder = (command) =>
  /^[aum]$/.test(command.args[0] ?? "") ? operands(command).slice(2) : [];

/** Where an archive is unpacked: the folder of an option, or the one that the line is in. */
const unpacked =
  (isUnpacking: (command: SimpleCommand) => boolean, ...options: string[]): Finder => (command) => {
    if (!isUnpacking(command)) return [];
    const folders = valuesIn(...options)(command);
    return folders.length > 0 ? folders : within(["."]);
  };

const tarExtracts = (command: SimpleCommand): boolean => {
  const first = command.args[0] ?? "";
  return hasFlag(command, "x", "extract", "get") && !hasFlag(command, "O", "to-stdout") ||
    (!first.startsWith("-") && first.includes("x") && !first.includes("O"));
};

/** Whether a compressor puts its result beside a file, or in the file's place. */
const replaces: Finder = (command) =>
  hasFlag(command, "ctlL", "stdout", "to-stdout", "test", "list") ? [] : operands(command);

const COMPRESSORS = ["gzip", "pigz", "bzip2", "xz", "zstd", "gunzip", "bunzip2", "unxz", "lzma"];

const TAR = {
  writes: (command: SimpleCommand) => [
    ...changesFolders(command)
      ? tarExtracts(command) ? tarFolders(command) : []
      : unpacked(tarExtracts, "-C", "--directory", "--cd")(command),
    ...tarCreates(command) ? tarFiles(command) : [],
  ],
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
  readsBelow: tarMembers,
  noteFiles: noteOutputIn(tarFiles),
  dumps: (command: SimpleCommand) => tarCreates(command) && packsFolder(command),
} as const;

/** Compressed files stand beside their originals, with a suffix of their own. */
export const noteSuffixed = (suffix: string): FileNoter =>
  noteOutputIn((command) => [
    ...optionValues(command, "-out", "-o", "--output", "--result-file", "--archive"),
    ...operands(command).map((path) => path + suffix),
  ]);

/** `restore`, `--restore-as-of`, `-r`. */
const isRestore = (arg: string): boolean => arg.replace(/^-+/, "").startsWith("restore");

/** Archivers and compressors. */
export const ARCHIVES: readonly Family[] = [
  { names: ["tar"], ...TAR, reads: "shown", output: "decoded_by_option" },
  { names: ["gtar", "bsdtar"], ...TAR },
  {
    names: ["zip"],
    runs: ["-TT", "--unzip-command"],
    reads: "shown",
    descends: true,
    readsBelow: (command) => [
      ...hasFlag(command, "rR", "recurse-paths") ? operands(command).slice(1) : [],
      ...hasFlag(command, "@", "names-stdin") ? listed(command) : [],
    ],
    noteFiles: noteOutputIn((command) => operands(command).slice(0, 1)),
    dumps: packsFolder,
  },
  {
    names: ["7z"],
    reads: "shown",
    descends: true,
    readsBelow: sevenZipped,
    noteFiles: noteOutputIn((command) => operands(command).slice(1, 2)),
    output: "decoded_by_option",
    dumps: packsFolder,
  },
  {
    names: ["rar"],
    readsBelow: sevenZipped,
    noteFiles: noteOutputIn((command) => operands(command).slice(1, 2)),
    dumps: packsFolder,
  },
  {
    names: ["cpio"],
    reads: () => [],
    runs: ["--rsh-command"],
    descends: true,
    readsBelow: (command) =>
      hasFlag(command, "op", "create", "pass-through") ? listed(command) : [],
    dumps: packsFolder,
  },
  {
    names: ["pax"],
    descends: true,
    readsBelow: (command) =>
      hasFlag(command, "w") ? [...operands(command), ...listed(command)] : [],
    dumps: packsFolder,
  },
  {
    names: ["gzip"],
    reads: "shown",
    descends: true,
    readsBelow: (command) => hasFlag(command, "r", "recursive") ? operands(command) : [],
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
  { names: COMPRESSORS, writes: replaces },
  {
    names: ["unzip"],
    writes: unpacked((command) => !hasFlag(command, "lptvzZ"), "-d"),
  },
  {
    names: ["cpio"],
    writes: unpacked((command) => hasFlag(command, "i", "extract"), "-D", "--directory"),
  },
  {
    names: ["7z", "7za", "7zr", "7zz"],
    writes: unpacked(({ args }) => args.some((arg) => arg === "x" || arg === "e"), "-o"),
  },
  {
    names: ["unrar", "rar", "unar"],
    writes: (command) =>
      lastOperand(command).flatMap((folder) => folder.endsWith("/") ? within([folder]) : []),
  },
  { names: ["ar"], writes: valuesIn("--output") },
  {
    names: ["dpkg-deb", "dpkg"],
    writes: (command) =>
      hasFlag(command, "xXR", "extract", "raw-extract", "vextract")
        ? within(lastOperand(command))
        : [],
  },
  { names: ["restic"], writes: unpacked(({ args }) => args.includes("restore"), "-t", "--target") },
  { names: ["borg"], writes: unpacked(({ args }) => args.includes("extract")) },
  { names: ["tarsnap"], writes: unpacked((command) => hasFlag(command, "x"), "-C") },
  {
    names: ["duplicity", "rdiff-backup", "kopia"],
    writes: (command) => command.args.some(isRestore) ? within(lastOperand(command)) : [],
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
