import { optionValues } from "./arguments.ts";
import { decodeBase64 } from "./decode.ts";
import { type SimpleCommand, textFlow } from "./command.ts";
import { type Inner, type ReadFile, shellText } from "./inner.ts";
import { afterFirst, shellOptions } from "./option_code.ts";
import { interpreterOf, INTERPRETERS, SHELLS } from "./shells.ts";
import { unwrapFd, unwrapFind, unwrapParallel, unwrapXargs } from "./unwrap_items.ts";
import { innerCommand, wrappersOf } from "./wrappers.ts";

/** Everything that a command runs besides itself. */
export function unwrap(command: SimpleCommand, readFile: ReadFile): Inner[] {
  const special = SPECIAL.get(command.name);
  if (special !== undefined) return special(command);
  if (SHELLS.has(command.name)) return unwrapShell(command, readFile);
  const family = interpreterOf(command.name);
  if (family !== null) return unwrapInterpreter(command, family, readFile);
  const inner: Inner[] = [];
  for (const wrapper of wrappersOf(command.name)) {
    const found = innerCommand(wrapper, command.args);
    if (found === null) continue;
    if (wrapper.mode === "shell") inner.push(shellText(found.argv.join(" ")));
    else inner.push({ kind: "argv", argv: found.argv, assignments: found.assignments });
  }
  for (const text of shellOptions(command)) inner.push(shellText(text));
  return inner;
}

/** `sh -c text`, `sh file`, `sh < input`. */
function unwrapShell(command: SimpleCommand, readFile: ReadFile): Inner[] {
  let text = false;
  let stdin = false;
  let i = 0;
  for (; i < command.args.length; i++) {
    const arg = command.args[i] ?? "";
    if (arg === "--") {
      i++;
      break;
    }
    if (arg === "-" || !(arg.startsWith("-") || arg.startsWith("+"))) break;
    if (arg === "--command") text = true;
    else if (arg.startsWith("--command=")) return [shellText(arg.slice(10))];
    else if (arg.startsWith("--")) {
      if (arg === "--rcfile" || arg === "--init-file") i++;
    } else {
      if (arg.includes("c")) text = true;
      if (arg.includes("s")) stdin = true;
      if (arg.endsWith("o") || arg.endsWith("O")) i++;
    }
  }
  const rest = command.args.slice(i);
  const first = rest[0];
  if (text && first !== undefined) {
    return [{ kind: "shell", flow: textFlow(first), positional: rest.slice(2) }];
  }
  if (first !== undefined && !stdin && !STDIN_PATHS.has(first)) {
    const content = readFile(first);
    return content === null ? [] : [{ kind: "shell", flow: content, positional: rest.slice(1) }];
  }
  if (command.stdin === null) return [];
  return [{ kind: "shell", flow: command.stdin, positional: rest }];
}

const STDIN_PATHS = new Set(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]);

/** `python -c code`, `python file`, `python < input`, `node -e code`. */
function unwrapInterpreter(command: SimpleCommand, family: string, readFile: ReadFile): Inner[] {
  const options = INTERPRETERS.get(family) ?? [];
  const windows = family === "pwsh" || family === "powershell";
  const args = command.args;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const option = windows ? arg.toLowerCase() : arg;
    const value = args[i + 1];
    if (windows && options.includes(option) && value !== undefined) {
      const encoded = option.startsWith("-e");
      return [
        code(
          encoded ? decodeBase64(value).replaceAll("\0", "") : args.slice(i + 1).join(" "),
          family,
        ),
      ];
    }
    if (options.includes(option) && value !== undefined) return [code(value, family)];
    const attached = options.find((one) =>
      one.startsWith("--") ? arg.startsWith(`${one}=`) : arg.length > 2 && arg.startsWith(one)
    );
    if (attached !== undefined) return [code(arg.slice(attached.length), family)];
    // Perl and Ruby take their code last in a cluster: `perl -lane code`, `ruby -ne code`.
    if (CLUSTERED.has(family) && isCluster(arg) && value !== undefined) {
      return [code(value, family)];
    }
    if (family === "deno" && arg === "eval" && value !== undefined) return [code(value, family)];
    if (family === "php" && arg === "-r" && value !== undefined) return [code(value, family)];
    if (!arg.startsWith("-") || arg === "-") {
      if (STDIN_PATHS.has(arg)) break;
      const content = readFile(arg);
      return content === null ? [] : [{ kind: "code", flow: content, language: family }];
    }
    if (arg === "-m") return [];
    if (VALUED.has(arg)) i++;
  }
  if (command.stdin === null) return [];
  return [{ kind: "code", flow: command.stdin, language: family }];
}

const CLUSTERED = new Set(["perl", "ruby"]);
const VALUED = new Set(["-W", "-X", "-I", "-r", "--require", "--import", "-O"]);

function isCluster(arg: string): boolean {
  return arg.startsWith("-") && !arg.startsWith("--") && (arg.endsWith("e") || arg.endsWith("E")) &&
    arg.length <= 8;
}

function code(text: string, language: string): Inner {
  return { kind: "code", flow: textFlow(text), language };
}

const SPECIAL: ReadonlyMap<string, (command: SimpleCommand) => Inner[]> = new Map([
  ["eval", (command) => [shellText(command.args.join(" "))]],
  ["at", unwrapStdin],
  ["batch", unwrapStdin],
  ["su", unwrapSu],
  ["runuser", unwrapSu],
  ["sg", unwrapSu],
  [
    "trap",
    (command) =>
      command.args[0] === undefined || command.args[0] === "-" ? [] : [shellText(command.args[0])],
  ],
  ["alias", unwrapAlias],
  ["command", unwrapCommand],
  ["xargs", unwrapXargs],
  ["gxargs", unwrapXargs],
  ["find", unwrapFind],
  ["gfind", unwrapFind],
  ["fd", unwrapFd],
  ["fdfind", unwrapFd],
  ["parallel", unwrapParallel],
  ["awk", unwrapAwk],
  ["gawk", unwrapAwk],
  ["mawk", unwrapAwk],
  ["nawk", unwrapAwk],
  [
    "iex",
    (
      command,
    ) => [{
      kind: "code",
      flow: command.stdin ?? textFlow(command.args.join(" ")),
      language: "powershell",
    }],
  ],
  [
    "invoke-expression",
    (
      command,
    ) => [{
      kind: "code",
      flow: command.stdin ?? textFlow(command.args.join(" ")),
      language: "powershell",
    }],
  ],
  ["cmd", (command) => {
    const at = command.args.findIndex((arg) =>
      arg.toLowerCase() === "/c" || arg.toLowerCase() === "/k"
    );
    return at < 0 ? [] : [shellText(command.args.slice(at + 1).join(" "))];
  }],
]);

/** `su [-] [user] -c text`, `runuser -u user -- program`. */
function unwrapSu(command: SimpleCommand): Inner[] {
  const texts = optionValues(command, "-c", "--command", "--session-command").filter((text) =>
    text !== "ommand"
  );
  const cluster = command.args.findIndex((arg) =>
    arg.startsWith("-") && !arg.startsWith("--") && arg.length > 2 && arg.endsWith("c")
  );
  const next = cluster < 0 ? undefined : command.args[cluster + 1];
  if (next !== undefined) texts.push(next);
  if (texts.length > 0) return texts.map(shellText);
  const dashes = command.args.indexOf("--");
  if (dashes >= 0) return [{ kind: "argv", argv: command.args.slice(dashes + 1) }];
  const user = command.args.findIndex((arg) => arg === "-u" || arg === "--user");
  if (command.name === "runuser" && user >= 0) {
    return [{ kind: "argv", argv: command.args.slice(user + 2) }];
  }
  if (command.name === "sg" && command.args[1] !== undefined) {
    return [shellText(command.args.slice(1).join(" "))];
  }
  return command.stdin === null ? [] : [{ kind: "shell", flow: command.stdin }];
}

function unwrapStdin(command: SimpleCommand): Inner[] {
  return command.stdin === null ? [] : [{ kind: "shell", flow: command.stdin }];
}

function unwrapAlias(command: SimpleCommand): Inner[] {
  return command.args.flatMap((arg) => arg.includes("=") ? [shellText(afterFirst(arg, "="))] : []);
}

/** `command -v rm` only looks the name up. */
function unwrapCommand(command: SimpleCommand): Inner[] {
  let i = 0;
  for (; command.args[i]?.startsWith("-"); i++) {
    const arg = command.args[i] ?? "";
    if (arg === "--") {
      i++;
      break;
    }
    if (arg.includes("v") || arg.includes("V")) return [];
  }
  return [{ kind: "argv", argv: command.args.slice(i) }];
}

/** Awk's program is code: `system("…")`, `| "sh"`. */
function unwrapAwk(command: SimpleCommand): Inner[] {
  for (let i = 0; i < command.args.length; i++) {
    const arg = command.args[i] ?? "";
    if (arg === "-F" || arg === "-v" || arg === "-f") {
      if (arg === "-f") return [];
      i++;
    } else if (!arg.startsWith("-")) return [code(arg, "awk")];
  }
  return [];
}
