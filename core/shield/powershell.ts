/**
 * PowerShell's commands, as far as they read as those of a shell: each block's on lines of their own, of an assignment
 * what is assigned, and of a value that is only written a word for it.
 */
export function shellOf(code: string): string {
  return code.replaceAll("\\", "/").replaceAll(
    TOKEN,
    (token) => token === "{" || token === "}" ? "\n" : token.replaceAll("`", ""),
  )
    .replaceAll(
      VALUE,
      (_all, before: string, assigns?: string) => assigns === undefined ? `${before}echo ` : before,
    );
}

/** What a backtick escapes, a string, a variable in braces, and the braces of blocks. */
const TOKEN = /`[\s\S]|"(?:[^"`]|`[\s\S])*"?|'[^']*'?|\$\{[^{}]*\}|[{}]/g;

/** A variable, a type or a string, where a command would begin. */
const VALUE =
  /(^|[;|(\n])[ \t]*(?:(?:\$[\w:]+[\w.]*|\0)[ \t]*([+-]?=(?!=)[ \t]*)?|\[[\w.]+\](?=::|\$|\()|(?=["']))/g;

/** Marks between which commands stand in what is no shell's grammar otherwise. */
export const SEPARATORS = "\n;|&()";
