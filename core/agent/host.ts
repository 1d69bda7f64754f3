import { resolve } from "node:path";
import process from "node:process";
import program from "../../deno.json" with { type: "json" };
import { logLine } from "../log_line.ts";
import type { Clock, Log } from "../ports.ts";
import { systemEntropy } from "../system.ts";
import { dial } from "./dial.ts";
import { systemTree } from "./tree.ts";
import type { AgentFiles, AgentHost, ChildProcess, ProcessEnd } from "./port.ts";
import { writeAll } from "../../kv/disk.ts";

/** The agent's own machine: its clock, files, processes and network. */
export const machineHost: AgentHost = {
  clock: systemClock(),
  entropy: systemEntropy,
  log: consoleLog(),
  machine: {
    version: program.version,
    platform: `${Deno.build.os}-${Deno.build.arch}`,
    get hostname() {
      return Deno.hostname();
    },
  },
  files: systemFiles(),
  tree: systemTree,
  dial,
  spawn,
};

/**
 * Reads an environment variable and takes it away from the commands that the agent will start; what is set
 * to nothing is not set.
 */
export function takeEnvironment(name: string): string | undefined {
  const value = Deno.env.get(name);
  if (value !== undefined) Deno.env.delete(name);
  return value || undefined;
}

/** Where the agent keeps its state unless it is told: the user's state directory of the system. */
export function defaultStateDir(): string {
  const windows = Deno.build.os === "windows";
  const base = Deno.env.get(windows ? "LOCALAPPDATA" : "XDG_STATE_HOME");
  if (base) return `${base}/relay-agent`;
  const home = Deno.env.get(windows ? "USERPROFILE" : "HOME");
  return home ? `${home}/.local/state/relay-agent` : "./relay-agent";
}

/** A path as it is from the root, without a slash at its end. */
export function absolutePath(path: string): string {
  return resolve(path).replaceAll("\\", "/");
}

/** Calls back at SIGTERM and SIGINT (Ctrl-C and Ctrl-Break on Windows) until the result is called. */
export function onStopSignal(stop: () => void): () => void {
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  return () => {
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
  };
}

function systemClock(): Clock {
  return {
    now: () => Date.now(),
    after(ms, task) {
      const timer = setTimeout(task, ms);
      return () => clearTimeout(timer);
    },
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

function consoleLog(): Log {
  return {
    info: (message) => logLine(console.log, message),
    warn: (message) => logLine(console.error, `warning: ${message}`),
    error: (message) => logLine(console.error, `error: ${message}`),
  };
}

function systemFiles(): AgentFiles {
  const encoder = new TextEncoder();
  return {
    makeDir: (path) => Deno.mkdirSync(path, { recursive: true, mode: 0o700 }),
    read(path) {
      try {
        return Deno.readTextFileSync(path);
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return null;
        throw error;
      }
    },
    write(path, text) {
      const temporary = `${path}.${Deno.pid}.tmp`;
      Deno.writeTextFileSync(temporary, text, { mode: 0o600 });
      Deno.renameSync(temporary, path);
    },
    openAppender(path) {
      const file = Deno.openSync(path, { create: true, append: true, mode: 0o600 });
      return {
        append(text) {
          writeAll(file, encoder.encode(text));
        },
        close: () => file.close(),
      };
    },
  };
}

function spawn(command: string): ChildProcess {
  const windows = Deno.build.os === "windows";
  const [shell, args] = windows
    ? ["powershell.exe", ["-NoProfile", "-NonInteractive", "-Command", command]] as const
    : ["sh", ["-c", command]] as const;
  // Only `spawn` honours `detached` (a session, hence a group, of its own); `output` ignores it.
  const child = new Deno.Command(shell, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
  return {
    stdout: child.stdout,
    stderr: child.stderr,
    ended: child.status.then(({ code, signal }): ProcessEnd =>
      signal === null ? { code, signal } : { code: null, signal }
    ),
    kill: (signal) => windows ? killTree(child.pid) : void signalGroup(child.pid, signal),
    groupAlive: () => !windows && signalGroup(child.pid, 0),
  };
}

/** Sends a signal to a process group (0 only asks for it); false when there is no such group. */
function signalGroup(leader: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

/** Windows has no groups to signal: its own tool walks the tree of children. */
function killTree(leader: number): void {
  new Deno.Command("taskkill", {
    args: ["/T", "/F", "/PID", String(leader)],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}
