import { classifyPath, type PathKind } from "../programs/paths.ts";
import { rememberLast } from "./remember_last.ts";

/** How much SQL destroys: structure and whole tables, some rows, or nothing. */
export type SqlHarm = "destroys" | "changes" | "none";

/**
 * Judges each statement by its first words; strings and comments are no code. `local`: no server runs it, so
 * COPY writes a file of the caller. Linear in the text.
 */
export function scanSql(text: string, local = false, depth = 0): SqlHarm {
  let worst: SqlHarm = "none";
  for (const statement of lasting(splitStatements(text))) {
    const { words, strings } = statement;
    // Text that a procedure builds and runs: EXECUTE 'DROP …'.
    const runs = depth < MAX_EXECUTES && words.some((word) => EXECUTORS.has(word));
    const inner = runs ? strings.map((one) => scanSql(one, local, depth + 1)) : [];
    const harm = inner.includes("destroys") ? "destroys" : judgeStatement(statement, local);
    if (harm === "destroys") return harm;
    if (harm === "changes") worst = harm;
  }
  return worst;
}

/** The words of each statement: lower case, strings as `''`. */
export const sqlStatements = (text: string): readonly (readonly string[])[] =>
  lasting(splitStatements(text)).map(({ words }) => words);

/** Statements about rows, which a rollback takes back with every server. */
const ROW_VERBS = new Set(["insert", "update", "delete", "merge"]);

/** The statements without those that the text itself rolls back at its end. */
function lasting(statements: readonly Statement[]): readonly Statement[] {
  const first = statements[0]?.words[0] ?? "";
  if (first !== "begin" && first !== "start") return statements;
  const verbs = statements.flatMap(({ words: [verb] }) => verb ?? []);
  return verbs.at(-1) === "rollback" && verbs.filter((verb) => ENDS.has(verb)).length === 1
    ? statements.filter(({ words: [verb = ""] }) => !ROW_VERBS.has(verb))
    : statements;
}

const ENDS = new Set(["rollback", "commit", "end"]);

/** How deep strings with SQL in them are followed. */
const MAX_EXECUTES = 3;
const EXECUTORS = new Set(["execute", "exec", "sp_executesql", "prepare"]);

const DROPPABLE_DATA = new Set([
  "database",
  "schema",
  "table",
  "keyspace",
  "tablespace",
  "materialized",
  "user",
  "role",
  "collection",
  "bucket",
  "catalog",
  "warehouse",
  "stream",
  "measurement",
  "series",
]);

/** Words that read or write the server's files or stop it, anywhere in a statement. */
const SERVER_WORDS = new Set([
  "lo_export",
  "lo_import",
  "load_file",
  "pg_read_file",
  "pg_read_binary_file",
  "plpython3u",
  "plpythonu",
  "plperlu",
  "pltclu",
]);

function judgeStatement({ words, strings }: Statement, local: boolean): SqlHarm {
  if (words.includes("outfile") || words.includes("dumpfile")) return "destroys";
  if (words.includes("detach") && words.includes("delete")) return "destroys";
  if (words.some((word) => SERVER_WORDS.has(word))) return "changes";
  if (words.includes("pg_terminate_backend") && words.includes("from")) return "changes";
  if (words[0] === "explain" && !words.some((word) => /^analy[sz]e$/.test(word))) return "none";
  if (words[0] === "match" && words.includes("delete")) return "changes";
  if (words[0] === "create" && words.includes("superuser")) return "changes";
  if (words[0] === "shutdown" || (words[0] === "set" && words[1] === "password")) return "changes";
  if (words[0] === "merge" && words.includes("delete")) return "changes";
  const at = words.findIndex((word) => VERBS.has(word));
  if (at < 0) return "none";
  const [verb, second = "", third = ""] = words.slice(at);
  // A verb later in a statement counts only after WITH, EXPLAIN or a procedure's BEGIN.
  if (
    at > 0 &&
    !["with", "begin", "explain", "do", "if", "declare", "execute", "exec", "as", "then", "use"]
      .includes(words[0] ?? "")
  ) return "none";
  switch (verb) {
    case "drop":
      if (second === "if" || second === "") return "none";
      return DROPPABLE_DATA.has(second) || (second === "external" && third === "table")
        ? "destroys"
        : DROPPABLE.has(second)
        ? "changes"
        : "none";
    case "truncate":
      return second === "" ? "none" : "destroys";
    case "delete":
      if (second !== "from" && !words.includes("from")) return "none";
      return words.includes("where") && !isAlwaysTrue(words) ? "changes" : "destroys";
    case "update":
      if (!words.includes("set")) return "none";
      return words.includes("where") && !isAlwaysTrue(words) ? "none" : "destroys";
    case "alter":
      if (second === "system" || second === "user" || second === "role") return "changes";
      if (words[at + 3] === "delete") return isAlwaysTrue(words) ? "destroys" : "changes";
      return words.includes("drop") ? "changes" : "none";
    case "grant":
    case "revoke":
      return words.includes("on") || words.includes("to") || words.includes("from")
        ? "changes"
        : "none";
    case "reset":
      return ["master", "replica", "slave", "binary"].includes(second) ? "destroys" : "none";
    case "purge":
      return second === "binary" || second === "master" ? "destroys" : "none";
    case "copy":
      if (words.includes("program")) return "destroys";
      return writesFile(words, strings, local) ? "changes" : "none";
    case "xp_cmdshell":
      return "destroys";
    default:
      return "none";
  }
}

const VERBS = new Set([
  "drop",
  "truncate",
  "delete",
  "update",
  "alter",
  "grant",
  "revoke",
  "copy",
  "reset",
  "purge",
  "xp_cmdshell",
]);
const DROPPABLE = new Set([
  "index",
  "view",
  "sequence",
  "function",
  "procedure",
  "trigger",
  "type",
  "extension",
  "column",
  "constraint",
  "policy",
  "owned",
  "publication",
  "subscription",
  "server",
  "aggregate",
  "domain",
  "event",
  "login",
]);

/** `WHERE 1=1` and `WHERE true` are no conditions. */
function isAlwaysTrue(words: readonly string[]): boolean {
  const condition = words.slice(words.lastIndexOf("where") + 1).join("");
  return condition === "1=1" || condition === "true" || condition === "1" || condition === "''=''";
}

/** `COPY … TO 'file'`: on a server, or over a file of the system. */
function writesFile(words: readonly string[], strings: readonly string[], local: boolean): boolean {
  const at = words.indexOf("to") + 1;
  if (words[at] !== "''") return false;
  const path = strings[words.slice(0, at).filter((word) => word === "''").length] ?? "";
  return !local || SYSTEM_PATHS.has(classifyPath(path));
}

const SYSTEM_PATHS: ReadonlySet<PathKind> = new Set(["root", "system", "system_part"]);

interface Statement {
  /** Lower case; a string stands as `''`, a quoted name as `name`. */
  readonly words: string[];
  readonly strings: string[];
}

const QUOTE = 0x27;
const DASH = 0x2d;

const isDigit = (c: number): boolean => c >= 0x30 && c <= 0x39;

const splitStatements = rememberLast(readStatements);

function readStatements(text: string): readonly Statement[] {
  const statements: Statement[] = [];
  let words: string[] = [];
  let strings: string[] = [];
  /** Where the word begins that is being read, and what of it stands before a comment. */
  let from = 0;
  let before = "";
  const endWord = (at: number) => {
    if (at > from || before !== "") words.push((before + text.slice(from, at)).toLowerCase());
    from = at + 1;
    before = "";
  };
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    switch (c) {
      case 0x20: // a space
      case 0x0a:
      case 0x09:
      case 0x0d:
      case 0x28: // (
      case 0x29: // )
      case 0x2c: // ,
        endWord(i);
        break;
      case 0x3b: // ;
        endWord(i);
        statements.push({ words, strings });
        words = [];
        strings = [];
        break;
      case QUOTE:
      case 0x22: // "
      case 0x60: { // `
        const end = text.indexOf(text[i]!, i + 1);
        endWord(i);
        words.push(c === QUOTE ? "''" : "name");
        if (c === QUOTE) strings.push(text.slice(i + 1, end < 0 ? text.length : end));
        i = end < 0 ? text.length : end;
        from = i + 1;
        break;
      }
      case DASH:
      case 0x23: { // #
        const isComment = c === DASH
          ? text.charCodeAt(i + 1) === DASH
          : text[i + 1] === " " && (words.length > 0 || before !== "" || i > from);
        if (!isComment) break;
        const end = text.indexOf("\n", i);
        before += text.slice(from, i);
        i = end < 0 ? text.length : end;
        from = i + 1;
        break;
      }
      case 0x2f: { // a slash
        if (text[i + 1] !== "*") break;
        endWord(i);
        // MySQL runs what stands in `/*!50000 … */`.
        if (text[i + 2] === "!") {
          i += 2;
          while (isDigit(text.charCodeAt(i + 1))) i++;
          from = i + 1;
          break;
        }
        const end = text.indexOf("*/", i + 2);
        i = end < 0 ? text.length : end + 1;
        from = i + 1;
      }
    }
  }
  endWord(text.length);
  statements.push({ words, strings });
  return statements;
}
