/** How much a text of SQL destroys: structure and whole tables, some rows, or nothing. */
export type SqlHarm = "destroys" | "changes" | "none";

/** Judges each statement by its first words; strings and comments are no code. Linear in the text. */
export function scanSql(text: string, depth = 0): SqlHarm {
  let worst: SqlHarm = "none";
  for (const { words, strings } of splitStatements(text)) {
    // Text that a procedure builds and runs: EXECUTE 'DROP …'.
    const runs = depth < MAX_EXECUTES && words.some((word) => EXECUTORS.has(word));
    const inner = runs ? strings.map((one) => scanSql(one, depth + 1)) : [];
    const harm = inner.includes("destroys") ? "destroys" : judgeStatement(words);
    if (harm === "destroys") return harm;
    if (harm === "changes") worst = harm;
  }
  return worst;
}

/** A string in a string in a string is enough. */
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

function judgeStatement(words: readonly string[]): SqlHarm {
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
      return words.includes("program") ? "destroys" : "none";
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

interface Statement {
  /** Lower case; a string stands as `''`, a quoted name as `name`. */
  readonly words: string[];
  readonly strings: string[];
}

function splitStatements(text: string): Statement[] {
  const statements: Statement[] = [];
  let words: string[] = [];
  let strings: string[] = [];
  let word = "";
  const endWord = () => {
    if (word !== "") words.push(word.toLowerCase());
    word = "";
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? "";
    if (c === "'" || c === '"' || c === "`") {
      const end = text.indexOf(c, i + 1);
      endWord();
      words.push(c === "'" ? "''" : "name");
      if (c === "'") strings.push(text.slice(i + 1, end < 0 ? text.length : end));
      i = end < 0 ? text.length : end;
    } else if (
      c === "-" && text[i + 1] === "-" ||
      c === "#" && words.length + word.length > 0 && text[i + 1] === " "
    ) {
      const end = text.indexOf("\n", i);
      i = end < 0 ? text.length : end;
    } else if (c === "/" && text[i + 1] === "*") {
      const end = text.indexOf("*/", i + 2);
      endWord();
      i = end < 0 ? text.length : end + 1;
    } else if (c === ";") {
      endWord();
      statements.push({ words, strings });
      words = [];
      strings = [];
    } else if (
      c === " " || c === "\n" || c === "\t" || c === "\r" || c === "(" || c === ")" || c === ","
    ) endWord();
    else word += c;
  }
  endWord();
  statements.push({ words, strings });
  return statements;
}
