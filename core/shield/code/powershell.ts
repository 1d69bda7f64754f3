/** Whether code of this language is PowerShell's. */
export const isPowershell = (language: string): boolean =>
  language === "powershell" || language === "pwsh";

/**
 * PowerShell's statements in a form that a shell parser can read: each block on its own, the right side of an
 * assignment, and a bare value as the operand of echo.
 */
export function statementsOf(code: string): string[] {
  const statements: string[] = [];
  let text = "";
  /** Whether a command may begin here. */
  let begins = true;
  let depth = 0;
  for (const [token] of code.replaceAll("\\", "/").matchAll(TOKEN)) {
    if (token === "(") depth++;
    else if (token === ")") depth = Math.max(0, depth - 1);
    if (ENDS.test(token) && (depth === 0 || token === "{" || token === "}")) {
      statements.push(text);
      text = "";
      depth = 0;
      begins = true;
    } else if (BLANK.test(token)) text += " ";
    else if (ASSIGNS.test(token)) {
      // What stands before it is no command's.
      if (!begins) text += "\n";
      begins = true;
    } else if (begins && CAST.test(token)) continue;
    else if (BEGINS.test(token)) {
      text += token;
      begins = true;
    } else if (!begins) text += plain(token);
    else {
      text += VALUE.test(token) ? `echo ${plain(token)}` : plain(token);
      begins = false;
    }
  }
  return [...statements, text].filter((statement) => statement.trim() !== "");
}

/** Comments, joined lines, escapes, strings, assignments, variables, types, casts, and what stands between them. */
const TOKEN =
  /<#(?:[^#]|#(?!>))*(?:#>)?|(?:[ \t]|`\r?\n)+|`[\s\S]|"(?:[^"`]|`[\s\S])*"?|'[^']*'?|\$\{[^{}]*\}|(?:\$[\w:.]+|\0(?:\.[A-Z]\w*)*)(?:[ \t]*(?:[+*\/%-]|\?\?)?=(?!=))?|(?:[+*\/%-]|\?\?)?=(?=[ \t])|\[[\w.]+\]::|\[[\w.]+(?:\[\])?\](?=\$|\()|@(?=[({])|\{\}|&&|\|\s*|[{}();&\n]|[^\s<`"'$\0[@{}();&|]+|[\s\S]/g;

const ENDS = /^[{};\n]$/;
const BLANK = /^(?:(?:[ \t]|`\r?\n)+|@|<#[\s\S]*)$/;
const BEGINS = /^(?:\||[(;\n]|&&)/;
const ASSIGNS = /^(?:(?:\$[\w:.]+|\0)[ \t]*)?(?:[+*/%-]|\?\?)?=$/;
const CAST = /^\[.+\]$/;
/** A variable that the line filled in may be a program's name; one with a property is not. */
const VALUE = /^(?:["']|\$\w|\[|\0\.)/;

/** Removes backticks and the quotes behind them, which a shell would take for the start or end of a string. */
const plain = (token: string): string => token.replaceAll(/`(?:["'`]|([\s\S])|$)/g, "$1");

/** Marks between which pipelines, and then commands, stand in a statement that is not a shell's otherwise. */
export const SEPARATORS = ["\n;()", "\n;|&()"] as const;
