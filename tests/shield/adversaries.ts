/** Text that is made to cost much: a beginning, what is repeated, and an end. */
export interface Adversary {
  readonly head?: string;
  readonly unit: string | ((n: number) => string);
  readonly tail?: string;
}

/** Repeats an adversary's text until it has `bytes` characters. */
export function fillUp({ head = "", unit, tail = "" }: Adversary, bytes: number): string {
  const parts = [head];
  let length = head.length + tail.length;
  for (let n = 0; length < bytes; n++) {
    const part = typeof unit === "string" ? unit : unit(n);
    parts.push(part);
    length += part.length;
  }
  return parts.join("").slice(0, bytes - tail.length) + tail;
}

/** Every construct of the grammar that nests or repeats, and every table that grows with the input. */
export const ADVERSARIES: Readonly<Record<string, Adversary>> = {
  "nested $(": { unit: "$(" },
  "closed $(…) 16 deep": { unit: `echo ${"$(".repeat(16)}x${")".repeat(16)};` },
  "nested ${": { unit: "${x:-" },
  "nested $((": { unit: "$((" },
  "nested (": { unit: "(" },
  "nested { ": { unit: "{ " },
  "open [[": { unit: "[[ " },
  "single quotes": { unit: "'" },
  "double quotes": { unit: '"' },
  "quoted words": { unit: "'a' \"b\" " },
  "one open quote": { head: "echo '", unit: "x" },
  "adjacent quotes": { unit: "''\"\"" },
  "ANSI-C quotes": { head: "echo ", unit: "$'\\x41'" },
  "backslashes": { unit: "\\" },
  "continued lines": { unit: "\\\n" },
  backticks: { unit: "`" },
  "backticks, closed": { unit: "`a`;" },
  "brace lists": { head: "echo ", unit: "{a,b}" },
  "brace lists, apart": { head: "echo ", unit: "{a,b} " },
  "brace ranges": { head: "echo ", unit: "{1..9} " },
  semicolons: { unit: ";" },
  "short commands": { unit: "a;" },
  "lines": { unit: "ls\n" },
  "and, or": { unit: "a&&b||" },
  pipes: { unit: "a|" },
  background: { unit: "a&" },
  heredocs: { unit: "<<E " },
  "heredocs, closed": { unit: "cat <<E\nx\nE\n" },
  "one long heredoc": { head: "cat <<E\n", unit: "line $x\n", tail: "\nE\n" },
  "here-strings": { unit: "cat <<< a;" },
  globs: { head: "rm ", unit: "/*/?[a-z] " },
  "one long glob": { head: "rm /", unit: "*a" },
  "one hidden name": { head: "/bin/", unit: "?*" },
  "one long word": { head: "echo ", unit: "x" },
  arguments: { head: "rm ", unit: "a " },
  options: { head: "curl ", unit: "-d " },
  "options with values": { head: "curl ", unit: "-d a@b=c " },
  "long options": { head: "git push ", unit: "--forc " },
  "paths with ..": { head: "rm ", unit: "a/../" },
  redirections: { unit: (n) => `>f${n} ` },
  "files, then reads": { unit: (n) => n % 2 === 0 ? `echo x >f${n};` : `cat f${n - 1};` },
  "one file, grown": { unit: "echo xxxxxxxx >> f;" },
  "one file, doubled": { unit: "cat f f >> f; echo x >> f;" },
  assignments: { unit: (n) => `v${n}=x;` },
  "prefix assignments": { unit: (n) => `v${n}=x `, tail: "ls" },
  "doubled variables": { head: "a=xxxxxxxx;", unit: "a=$a$a;" },
  "used variables": { head: "a=xxxxxxxx;", unit: "$a " },
  "array elements": { head: "a=(", unit: "x ", tail: ')"${a[@]}"' },
  "elements, one by one": { unit: (n) => `a[${n}]=x;` },
  "declared elements": { head: "declare ", unit: "a[1]=b " },
  "declared names": { head: "declare ", unit: (n) => `a${n}=b ` },
  "text through pipes": { head: `echo ${"ab".repeat(2_000)}`, unit: "|rev" },
  "text from a file": { head: `echo ${"ab".repeat(2_000)}>f;`, unit: "psql<f;" },
  "reads of one text": { head: `echo ${"a b ".repeat(1_000)}|{ `, unit: "read a b;", tail: "}" },
  functions: { unit: (n) => `f${n}(){ f${n + 1};};` },
  "function calls": { head: "f(){ a;};", unit: "f;" },
  loops: { unit: "for i in 1 2 3;do a;done;" },
  "nested loops": { unit: "for i in 1 2 3;do " },
  "nested if": { unit: "if a;then " },
  cases: { unit: "case a in a)b;;esac;" },
  "process substitutions": { head: "cat ", unit: "<(a) " },
  "wrappers": { unit: "sudo " },
  "different wrappers": { unit: "env nice nohup timeout 1 ", tail: "ls" },
  "eval in eval": { unit: "eval " },
  "sh -c texts": { unit: "sh -c 'a';" },
  "xargs": { head: "echo ", unit: "a ", tail: "| xargs rm" },
  "find -exec": { head: "find . ", unit: "-exec a {} ; " },
  "base64 into sh": { head: "echo ", unit: "bHM7", tail: "|base64 -d|sh" },
  "Python names": { head: "python3 -c '", unit: "a.b.c ", tail: "'" },
  "Python strings": { head: "python3 -c 'os.system;", unit: '"ls";', tail: "'" },
  "Perl quotes": { head: "perl -e '", unit: "q(a) qw(b) ", tail: "'" },
  "Perl runners": { head: "perl -e '", unit: "system q! ", tail: "'" },
  "Python runners": { head: "python3 -c '", unit: 'os.system(["a"]);', tail: "'" },
  "awk pipes": { head: "awk '", unit: '"a" b | getline | ', tail: "'" },
  "awk patterns": { head: "awk '", unit: "/[/ ", tail: "'" },
  "sed brackets": { head: "sed 's/", unit: "[[", tail: "'" },
  "sed commands": { head: "sed '", unit: "s/a/b/e;", tail: "'" },
  SQL: { head: "psql -c '", unit: "select a;", tail: "'" },
  "SQL executes": { head: 'psql -c "', unit: "execute 'execute x';", tail: '"' },
  "printf format": { head: "printf '", unit: "%s", tail: "' a b c" },
  "tr sets": { head: "echo a | tr ", unit: "a-z", tail: " b | sh" },
  comments: { unit: "# a\n" },
  "wide characters": { head: "echo ", unit: "é" },
  NUL: { unit: "\0" },
  "open then text": { head: 'echo "', unit: "; rm -rf / |\n" },
};
