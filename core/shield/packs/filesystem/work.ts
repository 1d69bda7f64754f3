import { hasFlag, operands, optionValues } from "../../programs/arguments.ts";
import { classifyPath, hasGlob, locate, normalizePath } from "../../programs/paths.ts";
import { isWork, meansWork } from "../../programs/work_files.ts";
import { type Redirection, type Rule, rule, type SimpleCommand } from "../rule.ts";

const overwrites = ({ operator, fd }: Redirection): boolean =>
  (operator === ">" || operator === ">|") && (fd === null || fd === 1);

/** Whether a command writes nothing, so that a redirection only empties its file. */
function writesNothing({ name, args, stdin }: SimpleCommand): boolean {
  switch (name) {
    case "":
    case ":":
    case "true":
      return true;
    case "echo":
    case "printf":
      return args.every((arg) => arg.trim() === "" || arg === "-n" || arg === "-e");
    case "cat":
      return args.length > 0 ? args.every((arg) => arg === "/dev/null") : stdin?.text === "";
    default:
      return false;
  }
}

/** Programs that empty or fill a file with what another one holds, and the file. */
function emptiedFile(command: SimpleCommand): readonly string[] {
  const words = operands(command);
  switch (command.name) {
    case "cp":
    case "install":
      return words.length === 2 && words[0] === "/dev/null" ? words.slice(1) : [];
    case "clear-content":
      return words;
    case "dd":
      return command.args.includes("if=/dev/null")
        ? command.args.flatMap((arg) => arg.startsWith("of=") ? [arg.slice(3)] : [])
        : [];
    default:
      return command.stdin?.text === "" && !hasFlag(command, "a", "append") ? words : [];
  }
}

/** Whether the shell empties a file before the command reads it: `sort a.csv > a.csv`. */
function clobbersInput(command: SimpleCommand): boolean {
  if (PRINTERS.has(command.name)) return false;
  const targets = command.redirections.filter(overwrites).map(({ target }) => target)
    .filter((target) => target.includes(".") || target.includes("/"));
  if (targets.length === 0) return false;
  const read = command.redirections.filter(({ operator }) => operator === "<")
    .map(({ target }) => target).concat(command.args);
  return targets.some((target) =>
    !target.startsWith("/dev/") &&
    read.some((path) => path === target || normalizePath(path) === normalizePath(target))
  );
}

/** They print their words, and read no file of that name. */
const PRINTERS = new Set(["", "echo", "printf", "exec", ":", "true"]);

/** Whether a path is everything in one folder of the project, which no build makes again. */
function isWholeLocal(command: SimpleCommand, path: string): boolean {
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1);
  if (slash < 1 || (name !== "*" && name !== "**" && name !== ".*")) return false;
  const folder = path.slice(0, slash);
  return !hasGlob(folder) && !SCRATCH.has(folder.slice(folder.lastIndexOf("/") + 1)) &&
    classifyPath(locate(command.cwd, folder)) === "local";
}

/** Files that need the rights of root belong to somebody else, unless a build makes them again. */
const isOthers = (path: string): boolean =>
  !["temporary", "regenerable"].includes(classifyPath(path)) && !/\.(?:o|log|tmp|pid)$/.test(path);

const SCRATCH = new Set(["log", "logs", "reports", "screenshots", "output"]);

/** Programs that install what was built, and the options and variables that say where to. */
function installsBuilt(command: SimpleCommand): boolean {
  const words = operands(command, new Set(["-C", "-f", "-j", "--config", "-o", "--prefix"]));
  const verbs = command.name === "cmake"
    ? command.args.includes("--install") ||
      optionValues(command, "-t", "--target").includes("install")
    : command.name.startsWith("python")
    ? words[0] === "setup.py" && words[1] === "install" && !hasFlag(command, "", "user")
    : words.some((word) => INSTALL_GOALS.has(word));
  if (!verbs || hasFlag(command, "nqt", "just-print", "dry-run", "recon")) return false;
  const places = [
    ...command.args, // `make install PREFIX=/opt`
    ...[...command.assignments].map(([name, value]) => `${name}=${value}`),
  ].flatMap((arg) => /^(?:DESTDIR|PREFIX|prefix)=(.*)$/s.exec(arg)?.[1] ?? [])
    .concat(optionValues(command, "--prefix", "--destdir", "--root"));
  return places.length === 0 || places.some((place) => SYSTEM_PLACE.test(normalizePath(place)));
}

/** The goals by which GNU makefiles install. */
const INSTALL_GOALS = new Set([
  ...["install", "install-strip", "install-exec", "install-data", "install-lib", "install-bin"],
  ...["install-man", "altinstall", "modules_install", "headers_install"],
]);
const SYSTEM_PLACE = /^\/(?:$|usr|etc|s?bin|lib|opt)/;

/** Files of work and data that are emptied, and builds that go into the system. */
export const WORK_FILE_RULES: readonly Rule[] = [
  rule({
    id: "filesystem.empties_work",
    title: "Empty a file of work or data",
    commands: ["cp", "install", "dd", "tee", "sponge", "clear-content"],
    also: ["redirected"],
    match: (command) =>
      emptiedFile(command).some((path) => isWork(locate(command.cwd, path))) ||
      writesNothing(command) &&
        command.redirections.some((one) =>
          overwrites(one) && isWork(locate(command.cwd, one.target))
        ),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "data_loss",
    explanation: "It empties a file that holds work or data.",
    safer: "Copy the file first, or move it aside.",
    hits: ["> main.py", "cat /dev/null > db.sqlite", ": > src/app.ts", "cp /dev/null orders.csv"],
    misses: [
      "> out.log",
      ": > /tmp/x.py",
      "echo 1 > VERSION",
      "> src/__init__.py",
      "> report.json",
    ],
  }),
  rule({
    id: "filesystem.clobbers_input",
    title: "Overwrite a file while it is read",
    commands: null,
    also: ["redirected"],
    match: clobbersInput,
    weight: [2, 4],
    threat: "data_loss",
    explanation: "The shell empties the file before the command reads it, so its content is lost.",
    safer: "Write to a new file and move it over the old one, or use sponge.",
    hits: ["sort data.txt > data.txt", "jq .x config.json > ./config.json", "tr a b < n.md > n.md"],
    misses: [
      "sort a.csv > b.csv",
      "echo x.txt > x.txt",
      "sort < a.txt >> a.txt",
      "npm test > test",
    ],
  }),
  rule({
    id: "filesystem.remove_work",
    title: "Delete files of work or data with a wildcard",
    commands: [
      "rm",
      "grm",
      "unlink",
      "shred",
      "srm",
      "rimraf",
      "del",
      "erase",
      "remove-item",
      "ri",
    ],
    match: (command) =>
      operands(command).some((path) =>
        path.includes("*") &&
        (meansWork(path) || isWholeLocal(command, path) ||
          command.wrappers.includes("sudo") && isOthers(locate(command.cwd, path)))
      ),
    weight: [2, 4],
    threat: "destructive_delete",
    explanation: "A wildcard deletes files that hold work or data.",
    safer: "List what the wildcard matches first, and move the files aside.",
    hits: [
      "rm -f *.sql",
      "rm *.csv",
      "rm -f data/*",
      "find . -name '*.go' -exec rm {} +",
      "find . -name '*.bak' -print0 | xargs -0 sudo rm -f --",
    ],
    misses: ["rm -f *.o", "rm -f build/*", "rm -f *.log", "rm -f logs/*", "rm notes.csv"],
  }),
  rule({
    id: "filesystem.installs_build",
    title: "Install a build into the system",
    commands: [
      ...["make", "gmake", "ninja", "meson", "cmake", "scons", "waf", "rake"],
      ...["python", "python2", "python3"],
    ],
    match: installsBuilt,
    weight: [4, 2],
    threat: "system_tampering",
    explanation: "It installs what was built into the system's folders, without a package manager.",
    safer: "Install into a folder of your own: make install PREFIX=$HOME/.local.",
    hits: [
      "make install",
      "sudo make install PREFIX=/usr",
      "cmake --install build --prefix /usr",
      "ninja -C build install",
      "python3 setup.py install",
    ],
    misses: [
      "make install-deps",
      "make -n install",
      "make install DESTDIR=/tmp/pkg",
      "make install PREFIX=out",
      "cmake --install build --prefix ./out",
      "make test",
    ],
  }),
];
