import type { CodeScan } from "../model.ts";
import { classifyPath } from "../programs/paths.ts";
import { isPowershell } from "./powershell.ts";

/** Whether a cmdlet in the code deletes, empties or switches off what it names, or deletes what it computes. */
export function destroysByCmdlet({ language, names, code }: CodeScan): boolean {
  if (!isPowershell(language)) return false;
  for (const name of names) {
    if (destroys(name) && !(name === "remove-item" && removesRegenerable(code))) return true;
  }
  return REMOVES_COMPUTED.test(code);
}

/** `rm (…)`: the short names of Remove-Item, with a path that is computed. */
const REMOVES_COMPUTED =
  /(?:^|[|;&{}()\n])[ \t]*(?:del|erase|rd|ri|rm|rmdir)(?:[ \t]|`\r?\n)[^|;&{}()\n]*\(/i;

/** PowerShell's cmdlets begin with their verb, and an approved list says which. */
export function destroys(name: string): boolean {
  if (HARMLESS.has(name)) return false;
  return DESTRUCTIVE.has(name) ||
    ["remove-", "clear-", "disable-", "uninstall-"].some((verb) => name.startsWith(verb));
}

const DESTRUCTIVE = new Set([
  "format-volume",
  "initialize-disk",
  "stop-computer",
  "restart-computer",
  "set-executionpolicy",
  "reset-computermachinepassword",
  "add-localgroupmember",
  "add-mppreference",
  "enable-psremoting",
  "new-localuser",
  "new-service",
  "rename-computer",
  "set-adaccountpassword",
  "set-mppreference",
  "set-netfirewallprofile",
  "stop-iissite",
  "stop-service",
  "stop-vm",
  "stop-webapppool",
  "stop-website",
]);
/** Nouns of cmdlets that change only their own session. */
const HARMLESS = new Set([
  "clear-host",
  "clear-variable",
  "clear-history",
  "remove-variable",
  "remove-module",
  "remove-job",
  "remove-event",
  "remove-typedata",
  "remove-pssession",
]);

/** Whether each Remove-Item names files of the project, temporary ones or folders that a build makes again. */
function removesRegenerable(code: string): boolean {
  // A backtick joins two lines.
  return !code.includes("`") &&
    code.toLowerCase().split(/[;\n|&{}()]/).filter((one) => one.includes("remove-item"))
      .every((statement) => {
        const [name, ...words] = statement.trim().split(/[\s,]+/);
        const paths = words.filter((word) => !REMOVAL_OPTIONS.has(word));
        return name === "remove-item" && paths.length > 0 && paths.every(isRegenerable);
      });
}

const REMOVAL_OPTIONS = new Set(["-path", "-literalpath", "-recurse", "-r", "-force", "-fo"]);
const PLAIN_PATH = /^["']?[\w.~:\\/][\w.~:\\/-]*["']?$/;

function isRegenerable(word: string): boolean {
  const kind = classifyPath(word.replaceAll(/["']/g, "").replaceAll("\\", "/"));
  return PLAIN_PATH.test(word) &&
    (kind === "regenerable" || kind === "temporary" || kind === "local_file");
}
