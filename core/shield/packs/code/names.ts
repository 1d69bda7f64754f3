import type { CodeScan } from "../../model.ts";
import { RUNNERS } from "../../code/runners.ts";

const DYNAMIC = new Set([
  "eval",
  "exec",
  "compile",
  "instance_eval",
  "class_eval",
  "function",
  "iex",
  "invoke-expression",
  "loadstring",
  "execfile",
  "assert",
  "vm",
  "runinnewcontext",
  "__import__",
]);
export const DECODERS = new Set([
  "b64decode",
  "decode_base64",
  "decode_hex",
  "urlsafe_decode64",
  "strict_decode64",
  "base64",
  "atob",
  "decode64",
  "fromhex",
  "unhexlify",
  "base64_decode",
  "hex2bin",
  "frombase64string",
  "a85decode",
  "b32decode",
  "decompress",
  "codecs.decode",
  "rot13",
  "str_rot13",
  "gzinflate",
  "pack",
  "unpack",
  "marshal",
  "chr",
  "fromcharcode",
]);
export const DOWNLOADERS = new Set([
  "urlopen",
  "urllib",
  "requests",
  "requests.get",
  "httpx",
  "fetch",
  "http.get",
  "https.get",
  "net::http",
  "open-uri",
  "downloadstring",
  "iwr",
  "irm",
  "invoke-webrequest",
  "lwp",
  "file_get_contents",
  "webclient",
  "open_uri",
  "uri.open",
  "axios",
  "net.http",
  "uri.parse",
]);

const OPENERS = new Set([
  "write",
  "open",
  "fopen",
  "opensync",
  "writefile",
  "writefilesync",
]);
/** A mode for opening a file to write, also Perl's in front of the file's name. */
const WRITES = /^[wax][bt+]*$|^r[bt]*\+|^\+?>/;
/** Node's modules whose short names delete. */
export const FILE_MODULES = new Set(["fs", "node:fs", "fs/promises", "node:fs/promises"]);
export const FILE_REMOVERS = new Set(["rm", "rmdir"]);
/** `[IO.File]::Delete(…)`, `[scriptblock]::Create(…)`: what PowerShell's commands do, done by methods of objects. */
export const METHODS = new RegExp(
  String
    .raw`(?:::|\.)(?:add(?:command|script)|appendall\w+|copy(?:to)?|create(?:instance)?(?!\(\))|delete\w*` +
    String.raw`|downloadfile\w*|exec|executenonquery|invoke\w*|kill|move(?:to)?|put|reboot|run` +
    String
      .raw`|set(?:accesscontrol|environmentvariable|info|password|value)|shellexecute|shutdown|terminate` +
    String
      .raw`|uninstall|upload\w+|win32shutdown\w*|writeall\w+)\(|\)\.stop\(|\bassembly\]::\w*load\w*\(`,
  "i",
);
export const SHELL_CALLS = new Set(["os.execute", "io.popen"]);
export const CONNECTORS = new Set([
  "socket",
  "tcpsocket",
  "net.socket",
  "net.connect",
  "fsockopen",
  "io::socket",
  "tcpclient",
  "net",
  "deno.connect",
  "io::socket::inet",
]);
export const TIERS = new Set([...RUNNERS, "dup2", "stdin", "fileno"]);
export const FORKS = new Set(["fork", "os.fork", "process.fork"]);
export const LOOPS = new Set(["while", "loop", "for", "until"]);
export const RUNNERS_OF_TEXT = new Set([...DYNAMIC, ...RUNNERS]);
export const SENDERS = new Set([...DOWNLOADERS, "socket", "post"]);
export const FILE_READERS = new Set([
  "open",
  "fopen",
  "readfile",
  "readfilesync",
  "file_get_contents",
]);
const TRUNCATERS = new Set([
  "truncate",
  "truncatesync",
  "ftruncate",
  "writefile",
  "writefilesync",
  "createwritestream",
  "write_text",
  "write_bytes",
  "file.write",
  "io.write",
  "copyfilesync",
  "os.rename",
  "os.replace",
  "renamesync",
  "rename",
  "shutil.move",
  "file_put_contents",
  "appendfile",
  "appendfilesync",
  "writetextfile",
  "writetextfilesync",
  "bun.write",
  "copyfile",
  "deno.rename",
  "deno.renamesync",
  "deno.truncate",
  "file.rename",
  "fileutils.mv",
  "fileutils.cp",
  "shutil.copy",
  "shutil.copyfile",
  "symlinksync",
  "os.symlink",
  "spit",
  "file.append",
  "write-region",
]);
const KILLERS = new Set(["os.kill", "process.kill", "killpg", "process.killall"]);

/** A call that kills, Perl's function of that name, or a method of Python's process library. */
export function killsInCode(scan: CodeScan): boolean {
  const { names, language } = scan;
  return has(scan, KILLERS) || (language === "perl" && names.has("kill")) ||
    (names.has("psutil") && (names.has("kill") || names.has("terminate")));
}

/** Whether the code contains one of these names. */
export function has(scan: CodeScan, names: ReadonlySet<string>): boolean {
  return !names.isDisjointFrom(scan.names);
}

/** Methods that empty a whole store. */
export const EMPTIERS = new Set([
  "flushall",
  "flushdb",
  "dropdatabase",
  "drop_database",
  "dropcollection",
  "drop_collection",
  "delete_bucket",
]);
/** Modules for databases and clouds, whose methods are named by what they do. */
export const STORES = new Set([
  "boto3",
  "pymongo",
  "mongoclient",
  "google.cloud",
  "azure",
  "elasticsearch",
  "opensearch",
  "kubernetes",
  "redis",
]);
export const STORE_VERB =
  /^(?:(?:delete|terminate)(?:_\w+|many|one|index|bucket|object)?|drop|purge_\w+|empty_\w+)$/;
/** Methods that are given SQL. */
export const QUERIES = new Set(
  "do exec_driver_sql execute executemany executescript prepare query raw".split(" "),
);

export const SYSTEM_FILE = /^[+>\s]*\/(?:etc|boot|usr)\b/;

const PHP_WRITERS = new Set(["copy", "symlink", "link", "move_uploaded_file", "touch"]);

/** The mode stands behind the path; what is read has one of the same letters. */
const LUA_WRITES = /open\s*\(?[^()]{0,300},\s*["'](?:[wa]|r\+)/;

/** Whether the code opens a file to write it, or writes over one by its name. */
export function writesFiles(scan: CodeScan): boolean {
  if (has(scan, TRUNCATERS)) return true;
  if (scan.language === "php" && has(scan, PHP_WRITERS)) return true;
  if (scan.language.startsWith("lua")) return LUA_WRITES.test(scan.code);
  return (has(scan, OPENERS) && scan.strings.some((text) => WRITES.test(text)));
}

export function opensDevice(scan: CodeScan): boolean {
  return scan.strings.some((text) =>
    text.startsWith("/dev/") &&
    ![
      "/dev/null",
      "/dev/stdin",
      "/dev/stdout",
      "/dev/stderr",
      "/dev/urandom",
      "/dev/random",
      "/dev/zero",
      "/dev/tty",
    ].includes(text)
  ) && has(scan, OPENERS);
}
