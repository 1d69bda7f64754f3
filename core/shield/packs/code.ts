import { namesAgentState } from "../programs/agent_state.ts";
import type { CodeScan } from "../code/code.ts";
import { destroysByCmdlet } from "../code/cmdlets.ts";
import { TREE_REMOVERS } from "../code/removers.ts";
import { RUNNERS } from "../programs/runners.ts";
import { classifyPath } from "../programs/paths.ts";
import { isPowershell } from "../code/powershell.ts";
import { isSecret } from "../programs/secrets.ts";
import type { Blast, Irreversibility, Rule } from "../model.ts";
import { scanSql } from "../code/sql.ts";
import { METADATA } from "./network.ts";

/** A rule about code of another language; it looks at the scan instead of a command. */
export interface CodeRule extends Rule {
  matchCode(scan: CodeScan): boolean;
}

function code(
  id: string,
  matchCode: (scan: CodeScan) => boolean,
  weight: readonly [Blast, Irreversibility],
  threat: string,
  explanation: string,
  safer: string | null,
): CodeRule {
  return {
    id: `code.${id}`,
    pack: "code",
    commands: [],
    match: () => false,
    matchCode,
    blast: weight[0],
    irreversibility: weight[1],
    threat,
    explanation,
    safer_alternative: safer,
  };
}

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
const DECODERS = new Set([
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
const DOWNLOADERS = new Set([
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

const OPENERS = new Set(["write", "open", "fopen", "opensync", "writefile", "writefilesync"]);
/** A mode that a file is opened with to be written, or one of Perl that stands before its name. */
const WRITES = /^[wax][bt+]*$|^r[bt]*\+|^\+?>/;
/** Node's modules whose short names delete. */
const FILE_MODULES = new Set(["fs", "node:fs", "fs/promises", "node:fs/promises"]);
const FILE_REMOVERS = new Set(["rm", "rmdir"]);
/** `[IO.File]::Delete(…)`, `[scriptblock]::Create(…)`: what PowerShell's commands do, done by methods of objects. */
const METHODS = new RegExp(
  String
    .raw`(?:::|\.)(?:add(?:command|script)|appendall\w+|copy(?:to)?|create(?:instance)?(?!\(\))|delete\w*` +
    String.raw`|downloadfile\w*|exec|executenonquery|invoke\w*|kill|move(?:to)?|put|reboot|run` +
    String
      .raw`|set(?:accesscontrol|environmentvariable|info|password|value)|shellexecute|shutdown|terminate` +
    String
      .raw`|uninstall|upload\w+|win32shutdown\w*|writeall\w+)\(|\)\.stop\(|\bassembly\]::\w*load\w*\(`,
  "i",
);
const SHELL_CALLS = new Set(["os.execute", "io.popen"]);
const CONNECTORS = new Set([
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
const TIERS = new Set([...RUNNERS, "dup2", "stdin", "fileno"]);
const FORKS = new Set(["fork", "os.fork", "process.fork"]);
const LOOPS = new Set(["while", "loop", "for", "until"]);
const RUNNERS_OF_TEXT = new Set([...DYNAMIC, ...RUNNERS]);
const SENDERS = new Set([...DOWNLOADERS, "socket", "post"]);
const FILE_READERS = new Set(["open", "fopen", "readfile", "readfilesync", "file_get_contents"]);
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
]);
const KILLERS = new Set(["os.kill", "process.kill", "killpg"]);

/** Whether the code says one of these names; it looks through whichever of both are fewer. */
function has(scan: CodeScan, names: ReadonlySet<string>): boolean {
  return !names.isDisjointFrom(scan.names);
}

/** Methods that empty a whole store. */
const EMPTIERS = new Set([
  "flushall",
  "flushdb",
  "dropdatabase",
  "drop_database",
  "dropcollection",
  "drop_collection",
  "delete_bucket",
]);
/** Modules for databases and clouds, whose methods are named by what they do. */
const STORES = new Set([
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
const STORE_VERB =
  /^(?:(?:delete|terminate)(?:_\w+|many|one|index|bucket|object)?|drop|purge_\w+|empty_\w+)$/;
/** Methods that are given SQL. */
const QUERIES = new Set(
  "do exec_driver_sql execute executemany executescript prepare query raw".split(" "),
);

const SYSTEM_FILE = /^[+>\s]*\/(?:etc|boot|usr)\b/;

/** Whether the code opens a file to write it, or writes over one by its name. */
function writesFiles(scan: CodeScan): boolean {
  return has(scan, TRUNCATERS) ||
    (has(scan, OPENERS) && scan.strings.some((text) => WRITES.test(text)));
}

function opensDevice(scan: CodeScan): boolean {
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

/** Code that is given to an interpreter on the command line. */
export const CODE_RULES: readonly CodeRule[] = [
  code(
    "remove_everything",
    (scan) =>
      (has(scan, TREE_REMOVERS) || scan.names.has("remove-item")) &&
      scan.strings.some((text) =>
        ["root", "system", "home"].includes(classifyPath(text)) &&
        (text.startsWith("/") || text.startsWith("~"))
      ),
    [5, 5],
    "destructive_delete",
    "The code deletes a whole system or home folder.",
    "Delete named files with a command that can be read.",
  ),
  code(
    "remove",
    (scan) =>
      scan.removesUnseen ||
      (scan.language === "julia" && scan.names.has("rm")) ||
      (has(scan, FILE_REMOVERS) && scan.strings.some((text) => FILE_MODULES.has(text))),
    [3, 4],
    "destructive_delete",
    "The code deletes files or folders.",
    "Delete named files with rm, which can be read.",
  ),
  code(
    "remote_remove",
    (scan) =>
      has(scan, EMPTIERS) || (has(scan, STORES) && scan.names.values().some((name) =>
        STORE_VERB.test(name)
      )) ||
      (has(scan, QUERIES) && scan.strings.some((text) => scanSql(text) !== "none")),
    [3, 4],
    "data_loss",
    "The code deletes what a database or a cloud holds.",
    "Do it with the store's own program, where it can be read.",
  ),
  code(
    "method",
    ({ language, code }) => isPowershell(language) && METHODS.test(code),
    [3, 4],
    "destructive_delete",
    "The code calls a method that deletes, writes, ends or runs what it is given.",
    "Use the cmdlet that does the same, which can be read.",
  ),
  code(
    "cmdlet",
    destroysByCmdlet,
    [4, 4],
    "destructive_action",
    "The cmdlet deletes, empties or switches off what it names.",
    "Run it with -WhatIf first.",
  ),
  code(
    "reverse_shell",
    (scan) =>
      scan.strings.some((text) => text.startsWith("/inet/") || text.startsWith("/inet4/")) ||
      (scan.strings.includes("socket") && has(scan, SHELL_CALLS)) ||
      (scan.strings.some((text) => /^(?:node:)?net$/.test(text)) &&
        scan.names.has("child_process")) ||
      (has(scan, CONNECTORS) && has(scan, TIERS)),
    [5, 5],
    "reverse_shell",
    "The code ties a shell to a network connection.",
    null,
  ),
  code(
    "fork_bomb",
    (scan) => has(scan, FORKS) && has(scan, LOOPS),
    [5, 4],
    "denial_of_service",
    "The code starts copies of itself without end.",
    null,
  ),
  code(
    "write_device",
    opensDevice,
    [5, 5],
    "disk_destruction",
    "The code writes to a device.",
    null,
  ),
  code(
    "run_download",
    (scan) =>
      has(scan, DOWNLOADERS) &&
      has(scan, RUNNERS_OF_TEXT),
    [5, 4],
    "remote_code_execution",
    "The code runs something that it downloads.",
    "Download it to a file, check it, then run it.",
  ),
  code(
    "run_decoded",
    (scan) => has(scan, DECODERS) && has(scan, RUNNERS_OF_TEXT),
    [4, 5],
    "obfuscation",
    "The code decodes text and runs it, which hides what it does.",
    "Send the code in clear.",
  ),
  code(
    "run_computed",
    (scan) => scan.computes,
    [3, 3],
    "unseen_code",
    "The code starts a program by text that it puts together, so what would run cannot be told.",
    "Write the program and its arguments out.",
  ),
  code(
    "secret",
    (scan) =>
      scan.strings.some((text) =>
        isSecret(text) && (text.includes("/") || text.startsWith("id_")) && !text.includes(" ")
      ),
    [4, 3],
    "credential_access",
    "The code reads keys, tokens or password hashes.",
    "Ask your secret store for the one value.",
  ),
  code(
    "agent_state",
    (scan) => namesAgentState(scan.strings),
    [4, 3],
    "credential_access",
    "The code reads the agent's own credential and keys, or the environment of a process.",
    null,
  ),
  code(
    "secret_leaves",
    (scan) =>
      scan.strings.some((text) =>
        isSecret(text) && !text.includes(" ") &&
        (text.includes("/") || (text.startsWith(".") && has(scan, FILE_READERS)))
      ) && has(scan, SENDERS),
    [4, 5],
    "data_exfiltration",
    "The code reads secrets and talks to the network.",
    null,
  ),
  code(
    "metadata",
    (scan) => scan.strings.some((text) => METADATA.test(text)),
    [4, 3],
    "credential_access",
    "The code asks the cloud's metadata service, which hands out the machine's own credentials.",
    "Use the cloud's tool, which asks for a short-lived credential itself.",
  ),
  code(
    "truncate",
    (scan) =>
      writesFiles(scan) &&
      scan.strings.some((text) => SYSTEM_FILE.test(text)),
    [4, 4],
    "system_tampering",
    "The code overwrites a file that belongs to the system.",
    "Write to a new file and compare.",
  ),
  code(
    "kill",
    (scan) => has(scan, KILLERS),
    [2, 4],
    "service_disruption",
    "The code kills processes.",
    "Use kill with the one number.",
  ),
];
