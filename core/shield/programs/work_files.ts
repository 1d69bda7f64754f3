import { classifyPath, normalizePath } from "./paths.ts";

/** Endings of files that people write, or that hold data; what programs write for a look is not among them. */
const ENDINGS = new Set([
  ...[
    "c",
    "cc",
    "clj",
    "cpp",
    "cs",
    "dart",
    "ex",
    "exs",
    "go",
    "h",
    "hpp",
    "hs",
    "java",
    "jsx",
    "kt",
  ],
  ...["lua", "m", "ml", "php", "pl", "proto", "ps1", "py", "r", "rb", "rs", "scala", "sh", "swift"],
  ...[
    "tf",
    "tfvars",
    "ts",
    "tsx",
    "vue",
    "svelte",
    "md",
    "rst",
    "tex",
    "adoc",
    "doc",
    "docx",
    "odt",
  ],
  ...["xls", "xlsx", "ods", "ppt", "pptx", "pdf", "ipynb", "csv", "tsv", "parquet", "avro", "db"],
  ...["db3", "sqlite", "sqlite3", "mdb", "sql", "dump", "rdb", "aof", "ldf", "mdf", "key", "pem"],
  ...["p12", "pfx", "crt", "conf", "cfg", "ini", "toml", "yaml", "yml", "properties", "tfstate"],
]);
/** Endings of files that people write and programs write as well. */
const WRITTEN_BY_BOTH = new Set(["js", "css", "html", "json", "xml", "svg", "mjs", "cjs"]);
const NAMES = new Set([
  "makefile",
  "dockerfile",
  "jenkinsfile",
  "vagrantfile",
  "gemfile",
  "procfile",
]);
/** Names that a program's own output has. */
const OUTPUT =
  /(?:^|[._-])(?:out|output|report|result|results|tmp|temp|test|example|sample|dump|new|gen|generated)(?:[._-]|$)/;

/** Whether a file is work or data by its name: source, documents, settings, databases. */
export function isWork(raw: string): boolean {
  const path = normalizePath(raw);
  const kind = classifyPath(path);
  if (kind === "temporary" || kind === "regenerable" || path.startsWith("/dev/")) return false;
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (NAMES.has(name)) return true;
  const ending = endingOf(name);
  if (name === "__init__.py" || OUTPUT.test(name)) return false;
  return ENDINGS.has(ending) || WRITTEN_BY_BOTH.has(ending) ||
    kind === "home_part" && ending === "txt";
}

/** Whether a wildcard means files of work or data: `*.sql`, `src/*.go`. */
export function meansWork(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const kind = classifyPath(path);
  return name.startsWith("*.") && kind !== "temporary" && kind !== "regenerable" &&
    ENDINGS.has(endingOf(name));
}

const endingOf = (name: string): string => {
  const dot = name.lastIndexOf(".");
  return dot < 1 ? "" : name.slice(dot + 1);
};
