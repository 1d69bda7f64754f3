/** The calls in code for the MongoDB shell: lower case, without strings, patterns and comments. */
export function callsOf(text: string): string {
  return text
    .replace(MEMBERS, ".$1")
    .replace(LITERALS, (_literal, key: string | undefined) => key === undefined ? "''" : `${key}:`)
    .replace(EXPLAINED, "")
    .toLowerCase();
}

/** `db[name]["drop"]()` calls a method by a string. */
const MEMBERS = /\[\s*["'](\w{1,40})["']\s*\]/g;
/** Keys in quotes stay; comments, other strings and patterns go. */
const LITERALS =
  /\/\*[^*]*\*\/|\/\/[^\n]*|["'](\$?\w{1,60})["']\s{0,4}:|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`[^`]*`?|(?<=[:(,=!&|]\s{0,4})\/(?:[^/\\\n]|\\.)+\/[a-z]*/g;
/** `db.orders.explain().remove({})` only explains. */
const EXPLAINED = /\.explain\([^()]*\)\s*\.\w+\(/g;

const METHODS =
  /\.(?:insert(?:one|many)?|update(?:one|many|role|user|searchindex)?|replaceone|delete(?:one|many)|remove(?:user|shard\w*)?|save|findandmodify|findoneand(?:update|replace|delete)|bulkwrite|create(?:index|indexes|collection|view|searchindex\w*|user|role|timeseries\w*)|drop\w*|renamecollection|reindex|(?:un)?hideindex|initialize(?:un)?orderedbulkop|copydatabase|clonecollection|clonedatabase|killop|killsessions|killallsessions\w*|setprofilinglevel|compact|mapreduce)\s*\(/;

/** Stages of a pipeline that write what was found. */
const STAGES = /[{,\s]\$(?:out|merge)\s*:/;

const COMMANDS =
  /command\(\s{0,9}\{?\s{0,9}["']?(?:insert|update|delete|findandmodify|bulkwrite|create\w*|drop\w*|renamecollection|collmod|compact|converttocapped|reindex|clone\w*|mapreduce|killop|killsessions|set\w+|shutdown|fsync|compactstructuredencryptiondata|repl\w+|enablesharding|shardcollection|movechunk|moveprimary|grant\w+|revoke\w+|updateuser|updaterole)\b/;

/** Whether code for the MongoDB shell writes documents, indexes, collections or accounts. */
export function writesDocuments(text: string): boolean {
  const calls = callsOf(text);
  return METHODS.test(calls) || STAGES.test(calls) || COMMANDS.test(text.toLowerCase());
}
