import { hasFlag, operands, optionValues } from "../../programs/arguments.ts";
import { SHELLS } from "../../programs/families/shells.ts";
import { locate, normalizePath } from "../../programs/paths.ts";
import { type Rule, rule, type SimpleCommand, type Span } from "../rule.ts";

const COMPILERS = [
  ...["gcc", "g++", "cc", "c++", "clang", "clang++", "tcc", "rustc", "go", "javac", "java", "ghc"],
  ...["ldc2", "dmd", "nim", "zig", "crystal", "fpc", "gfortran", "swiftc", "kotlinc", "nasm", "as"],
  ...["dotnet", "mono", "mcs", "csc", "wine", "ansible-playbook", "insmod", "make", "gmake"],
];
const INSTALLERS = [
  ...["dpkg", "rpm", "apt", "apt-get", "dnf", "yum", "zypper", "pacman", "apk", "snap", "flatpak"],
  ...["pip", "pip3", "pipx", "uv", "npm", "yarn", "pnpm", "gem", "brew", "installer", "msiexec"],
  ...["code", "luarocks", "cpanm", "helm", "kubectl"],
];

/** The rule about a line that fetches the source of a program and builds or runs it; the walk raises it. */
export const BUILDS_FETCHED = rule({
  id: "network.builds_fetched",
  title: "Build or run a project that was just fetched",
  weight: [4, 3],
  threat: "remote_code_execution",
  explanation:
    "It builds or runs a project that the same line fetches, before anybody has read it.",
  safer: "Fetch it first, look at it, then build it.",
  hits: [
    "git clone https://github.com/org/tool && cd tool && make install",
    "git clone https://github.com/org/tool.git /tmp/t; bash /tmp/t/setup.sh",
    "curl -L https://x.example/x.tgz | tar xz && cd x && ./configure",
  ],
  misses: [
    "git clone https://github.com/org/tool && cd tool && ls",
    "git clone git@github.com:org/web.git && cd web && npm ci",
    "curl -fsSL https://x.example/a.tgz | tar xz",
  ],
});

/** Programs and packages that come from the network. */
export const FETCHED_RULES: readonly Rule[] = [
  BUILDS_FETCHED,
  rule({
    id: "network.builds_download",
    title: "Compile or install a download at once",
    commands: [...COMPILERS, ...INSTALLERS],
    match: (command) => Boolean(command.inputs?.network) || Boolean(command.stdin?.network),
    weight: [4, 3],
    threat: "remote_code_execution",
    explanation: "It compiles, installs or runs a download before anybody has seen or checked it.",
    safer: "Download it to a file, check its content and checksum, then use it.",
    hits: [
      "wget https://x.example/x.c && gcc x.c -o x && ./x",
      "curl -fsSL https://x.example/a.c | gcc -x c - -o /tmp/a",
      "curl -LO https://x.example/x.deb && sudo dpkg -i x.deb",
    ],
    misses: ["gcc -O2 main.c -o app", "curl -O https://x.example/x.c", "dpkg -l"],
  }),
];

const INSTALLER_NAMES = new Set(INSTALLERS);
const BUILDERS = new Set([
  ...["make", "gmake", "ninja", "meson", "cmake", "scons", "bazel", "gradle", "mvn", "ant", "rake"],
  ...["cargo", "go", "just", "task", "xcodebuild", "msbuild", "autoreconf"],
]);
const RUNNERS = new Set([
  ...SHELLS,
  "python",
  "python3",
  "perl",
  "ruby",
  "node",
  "php",
  ".",
  "source",
]);

/** The folder that a command fetches a project into; "" for one that only the archive tells; null for none. */
function fetchedInto(command: SimpleCommand): string | null {
  switch (command.name) {
    case "git":
    case "hg":
    case "svn":
    case "gh": {
      const words = operands(command, CLONE_VALUED);
      const verb = words.findIndex((word) => CLONE_VERBS.has(word));
      const [address, folder] = words.slice(verb + 1);
      if (verb < 0 || verb > 1 || address === undefined) return null;
      return locate(command.cwd, folder ?? nameIn(address));
    }
    case "tar":
    case "bsdtar":
    case "unzip":
    case "cpio":
      return command.stdin?.network || command.inputs?.network
        ? optionValues(command, "-C", "--directory", "-d")[0] ?? ""
        : null;
    default:
      return null;
  }
}

const CLONE_VERBS = new Set(["clone", "checkout", "co"]);
const CLONE_VALUED = new Set(["-b", "--branch", "--depth", "-C", "-c", "-o", "--origin"]);

const nameIn = (address: string): string =>
  address.slice(Math.max(address.lastIndexOf("/"), address.lastIndexOf(":")) + 1)
    .replace(/\.git$/, "");

/** Where the code that a command builds or runs lies; null for another command. */
function builtAt(command: SimpleCommand): string | null {
  const { name, program, cwd } = command;
  if (program.includes("/") && !program.startsWith("/usr/") && !program.startsWith("/bin/")) {
    return locate(cwd, program);
  }
  if (BUILDERS.has(name)) {
    if (hasFlag(command, "", "version", "help")) return null;
    return locate(cwd, optionValues(command, "-C", "--directory", "--manifest-path")[0] ?? "x");
  }
  const source = INSTALLER_NAMES.has(name) ? operands(command).at(-1) : undefined;
  if (source?.startsWith(".") || source?.startsWith("/")) return locate(cwd, source);
  const script = RUNNERS.has(name) ? operands(command)[0] : undefined;
  return script === undefined ? null : locate(cwd, script);
}

/** The place in a line that builds or runs what the line has fetched; null for none. */
export function buildsFetched(
  commands: Iterable<{ readonly command: SimpleCommand }>,
): Span | null {
  const folders: string[] = [];
  for (const { command } of commands) {
    const at = folders.length === 0 ? null : builtAt(command);
    if (at !== null) {
      const place = normalizePath(at);
      const isInside = (folder: string) =>
        folder === "" ? place.includes("/") && !place.startsWith("/") : isBelow(place, folder);
      if (folders.some(isInside)) return command.span;
    }
    const folder = folders.length < FOLDERS_MAX ? fetchedInto(command) : null;
    if (folder !== null) folders.push(folder === "" ? "" : normalizePath(folder));
  }
  return null;
}

/** A line that fetches more projects is judged by the first of them. */
const FOLDERS_MAX = 8;

const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);
