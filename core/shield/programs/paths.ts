import { TEMPORARY_FOLDER, UNKNOWN } from "../model.ts";

/** What is lost when this path is deleted with everything below it. */
export type PathKind =
  | "root"
  | "system"
  | "system_part"
  | "home"
  | "home_part"
  | "temporary"
  | "regenerable"
  | "working_folder"
  | "elsewhere"
  | "local"
  | "local_file"
  | "unknown";

const SYSTEM = new Set([
  "bin",
  "boot",
  "dev",
  "etc",
  "home",
  "lib",
  "lib32",
  "lib64",
  "libx32",
  "media",
  "mnt",
  "opt",
  "proc",
  "root",
  "run",
  "sbin",
  "srv",
  "sys",
  "usr",
  "var",
  "private",
  "system",
  "library",
  "users",
  "applications",
  "volumes",
  "cores",
  "nix",
  "snap",
  "c:",
  "windows",
  "data",
]);

/** Whole folders one level deeper whose loss stops a machine or its data. */
const SYSTEM_DEEP = new Set([
  "usr/bin",
  "usr/sbin",
  "usr/lib",
  "usr/lib64",
  "usr/local",
  "usr/share",
  "usr/include",
  "usr/libexec",
  "var/lib",
  "var/log",
  "var/www",
  "var/spool",
  "var/db",
  "var/backups",
  "var/mail",
  "etc/ssh",
  "etc/systemd",
  "etc/pam.d",
  "etc/ssl",
  "etc/kubernetes",
  "etc/nginx",
  "etc/cron.d",
  "boot/efi",
  "boot/grub",
  "lib/modules",
  "lib/systemd",
  "private/etc",
  "private/var",
  "c:/windows",
  "c:/users",
  "var/lib/docker",
  "var/lib/mysql",
  "var/lib/postgresql",
  "var/lib/kubelet",
  "var/lib/etcd",
  "system/library",
  "usr/lib/systemd",
]);

const TEMPORARY = [
  "tmp",
  "var/tmp",
  "dev/shm",
  "private/tmp",
  "private/var/tmp",
  "private/var/folders",
];

/** Folders that a build or an install makes again. */
const REGENERABLE = new Set([
  "node_modules",
  "dist",
  "build",
  "out",
  "target",
  "__pycache__",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  ".next",
  ".nuxt",
  ".turbo",
  ".cache",
  ".parcel-cache",
  ".gradle",
  "coverage",
  ".coverage",
  ".nyc_output",
  ".venv",
  "venv",
  ".tox",
  ".eggs",
  "htmlcov",
  "deriveddata",
  "bower_components",
  "cmake-build-debug",
  "cmake-build-release",
  ".svelte-kit",
  ".angular",
  ".vite",
  ".terragrunt-cache",
  "tmp",
  "temp",
  "caches",
  "obj",
  ".terraform",
  ".dart_tool",
]);

/**
 * A part that is empty, `.` or `..`, or begins with two dots, or a backslash; `.env` is a name like others. One pattern
 * reads a long path in half the time of a loop.
 */
const TANGLED = /^\.(?:$|[./])|\\|\/(?:\/|\.(?:$|[./]))|[^]\/$/;

/** Resolves `//`, `.` and `..`; keeps a leading `/`, `~` or nothing. */
export function normalizePath(path: string): string {
  if (!TANGLED.test(path)) return path;
  const absolute = path.startsWith("/") || path.startsWith("\\");
  const parts: string[] = [];
  for (const part of path.replaceAll("\\", "/").split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (!absolute) parts.push(part);
  }
  return (absolute ? "/" : "") + parts.join("/");
}

/** A path with a slash behind it, for comparing with the beginnings of folders. */
export const asFolder = (path: string): string => `${normalizePath(path)}/`;

/** Where a path points, judged without looking at any disk; `~` and `$HOME` come in as `~`. */
export function classifyPath(raw: string): PathKind {
  const path = normalizePath(raw.startsWith(FILE_SCHEME) ? raw.slice(FILE_SCHEME.length) : raw);
  if (path.startsWith("/")) return classifyAbsolute(path);
  if (path.startsWith(UNKNOWN)) {
    return isRegenerable(path) ? "regenerable" : isInTemporary(path) ? "temporary" : "unknown";
  }
  if (path.startsWith("~")) return classifyHome(path);
  if (hasDrive(path)) return classifyAbsolute(`/${path.slice(2)}`);
  if (path === "" || path === ".." || path.startsWith("../")) {
    return isRegenerable(path) ? "regenerable" : "working_folder";
  }
  if (isEverything(path)) return "working_folder";
  if (isRegenerable(path)) return "regenerable";
  return looksLikeFile(path) ? "local_file" : "local";
}

/** Where the variable is unset, the rest of the path begins at the root. */
function isInTemporary(path: string): boolean {
  if (!path.startsWith(`${TEMPORARY_FOLDER}/`)) return false;
  const first = path.split("/", 2)[1] ?? "";
  return !hasGlob(first) && !SYSTEM.has(first.toLowerCase());
}

const FILE_SCHEME = "file://";

/** `C:` and the like. */
function hasDrive(path: string): boolean {
  const letter = path.charCodeAt(0) | 0x20;
  return path.charCodeAt(1) === 0x3a && letter >= 0x61 && letter <= 0x7a;
}

/** A path seen from a folder. */
export function locate(folder: string, path: string): string {
  if (folder === "." || path.startsWith("/") || path.startsWith("~") || hasDrive(path)) {
    return path;
  }
  return `${folder}/${path}`;
}

function isEverything(name: string): boolean {
  return name === "*" || name === "**" || name === ".*" || name === "*.*" || name === "?*" ||
    name === ".[!.]*" || name === "{*,.*}" || name === ".git" || name === ".??*" ||
    name === "[a-z]*";
}

/** `package-lock.json` is one file, even where a command would take a folder. */
function looksLikeFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return dot > 0 && name.length - dot <= 6 && name.length - dot > 1;
}

/** Whether one of the path's folders can be made again; none is called `*`. */
function isRegenerable(path: string): boolean {
  for (let from = 0; from <= path.length;) {
    const slash = path.indexOf("/", from);
    const end = slash < 0 ? path.length : slash;
    const name = path.slice(from, end).toLowerCase();
    if (REGENERABLE.has(name) || name.endsWith(".egg-info")) return true;
    from = end + 1;
  }
  return false;
}

function classifyHome(path: string): PathKind {
  const [first = "", ...rest] = path.split("/");
  if (
    first.includes("*") || rest.length === 0 || (rest.length === 1 && isEverything(rest[0] ?? ""))
  ) {
    return "home";
  }
  return isRegenerable(rest.join("/")) ? "regenerable" : "home_part";
}

function classifyAbsolute(path: string): PathKind {
  const whole = path.slice(path[1] === "/" ? 2 : 1).toLowerCase();
  const cut = whole.lastIndexOf("/");
  const all = cut > 0 && EVERY.has(whole.slice(cut + 1));
  const inner = all ? whole.slice(0, cut) : whole;
  const slash = inner.indexOf("/");
  const first = slash < 0 ? inner : inner.slice(0, slash);
  if (first === "" || isEverything(first)) return "root";
  const system = SYSTEM.has(first);
  for (const folder of TEMPORARY) {
    if (!inner.startsWith(folder)) continue;
    if (inner[folder.length] === "/") return "temporary";
    if (inner.length === folder.length) return all ? "temporary" : "system_part";
  }
  if (slash < 0) return system || hasGlob(first) ? "system" : "elsewhere";
  const deeper = inner.indexOf("/", slash + 1);
  if (first === "home" || first === "users") {
    if (deeper < 0) return "home";
    return isRegenerable(inner.slice(deeper + 1)) ? "regenerable" : "home_part";
  }
  if (SYSTEM_DEEP.has(inner) || hasGlob(first)) return "system";
  if (system && deeper < 0 && hasGlob(inner.slice(slash))) return "system";
  if (
    first === "opt" || first === "srv" || first === "mnt" || first === "media" || first === "data"
  ) {
    return isRegenerable(inner) ? "regenerable" : "elsewhere";
  }
  if (inner.startsWith("var/cache/") || `${inner}/`.startsWith("var/lib/apt/lists/")) {
    return "regenerable";
  }
  if (system) return "system_part";
  return isRegenerable(inner) ? "regenerable" : "elsewhere";
}

const EVERY = new Set(["*", "**", ".*"]);

/** Whether the shell would expand this word against the disk. */
export function hasGlob(word: string): boolean {
  return word.includes("*") || word.includes("?") || (word.includes("[") && word.includes("]"));
}

/** Whether the target of `>&` is a descriptor, or closes one, and is no path. */
export const isDescriptor = (target: string): boolean => /^(?:\d+-?|-)$/.test(target);

const DISKS = [
  "sd",
  "hd",
  "vd",
  "xvd",
  "nvme",
  "mmcblk",
  "disk",
  "rdisk",
  "mapper/",
  "md",
  "dm-",
  "loop",
  "ram",
  "zd",
  "sr",
  "mtd",
  "pmem",
  "nbd",
  "block/",
];

/** Whether the path is a block device, or a pattern that may be one. */
export function isDisk(raw: string): boolean {
  const path = normalizePath(raw);
  if (!path.startsWith("/")) return false;
  if (path.startsWith("//./PhysicalDrive")) return true;
  const slash = path.indexOf("/", 1);
  const end = slash < 0 ? path.length : slash;
  if (!path.startsWith("/dev/") && !hasGlob(path.slice(1, end))) return false;
  const device = path.slice(end + 1);
  if (hasGlob(device[0] ?? "") || device.startsWith(UNKNOWN)) return true;
  if (device.startsWith("shm") || device.startsWith("std")) return false;
  return DISKS.some((start) =>
    device.startsWith(start) || (device.startsWith(start[0] ?? "") && hasGlob(device))
  );
}

/** Whether a path, seen from a folder, belongs to the system and is not written every day. */
export function holdsSystem(from: string, folder: string): boolean {
  const path = normalizePath(locate(folder, from));
  if (OPEN_PLACES.some((start) => path.startsWith(start))) return false;
  const kind = classifyPath(path);
  return kind === "system_part" || kind === "system";
}

/** Places of the system that are written every day. */
const OPEN_PLACES = [
  "/dev/",
  "/proc/self/",
  "/tmp",
  "/var/log/",
  "/run/",
  "/var/run/",
  "/var/lock/",
  "/var/lib/apt/lists/",
  "/sys/class/leds",
];

const VITAL_FOLDERS = ["/bin/", "/boot/", "/lib", "/sbin/", "/usr/bin/", "/usr/lib", "/usr/sbin/"];
const VITAL_FILES = new Set([
  "/etc/fstab",
  "/etc/group",
  "/etc/passwd",
  "/etc/shadow",
  "/etc/sudoers",
]);

/** Whether a path, seen from a folder, is a file that the machine needs to start or to sign people in. */
export function isVital(from: string, folder: string): boolean {
  const path = normalizePath(locate(folder, from));
  return VITAL_FILES.has(path) || VITAL_FOLDERS.some((start) => path.startsWith(start));
}

/** Files in a home that its user's shells run when they start or end. */
const SHELL_STARTUPS = new Set(
  ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .kshrc"
    .split(" ").map((name) => `~/${name}`),
);

/** Whether a path is a start-up file of the caller's own shell. */
export const isShellStartup = (path: string): boolean =>
  path.startsWith("~") && SHELL_STARTUPS.has(normalizePath(path));
