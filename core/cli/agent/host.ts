import { resolve } from "node:path";
import process from "node:process";
import program from "../../../deno.json" with { type: "json" };
import { type Clock, type Log, logLine, openTracing, systemEntropy } from "../../ports/ports.ts";
import { ownForm } from "../process.ts";
import { dial } from "./link/dial.ts";
import { systemTree } from "./tree.ts";
import type { Account, AgentFiles, AgentHost, ChildProcess, ProcessEnd } from "./interfaces.ts";
import { writeAll } from "../../../kv/maintenance/disk.ts";

/** The agent's own machine: its clock, files, processes and network. */
export const machineHost: AgentHost = {
  clock: systemClock(),
  entropy: systemEntropy,
  log: consoleLog(),
  machine: {
    version: program.version,
    platform: `${Deno.build.os}-${Deno.build.arch}`,
    form: ownForm(),
    get hostname() {
      return Deno.hostname();
    },
  },
  files: systemFiles(),
  tree: systemTree,
  dial,
  tracing: null,
  spawn,
};

/** The agent's machine, with commands running as another user. */
export const hostRunningAs = (account: Account): AgentHost => ({
  ...machineHost,
  spawn: (command) => spawn(command, account),
});

/** The machine, with traces if the agent's variables turn them on. */
export const tracedHost = async (
  host: AgentHost,
  environment: Readonly<Record<string, string>>,
): Promise<AgentHost> => ({ ...host, tracing: await openTracing(environment) });

/** Variables that commands must not get: settings, credentials, and the folder of systemd's credentials. */
const OWN_VARIABLES = /^(RELAY_.*|OTEL_.*|CREDENTIALS_DIRECTORY)$/;

/** Removes and returns the agent's own variables, so that commands do not get them. Empty ones count as unset. */
export function takeEnvironment(): Record<string, string> {
  const own = Object.entries(Deno.env.toObject()).filter(([name]) => OWN_VARIABLES.test(name));
  for (const [name] of own) Deno.env.delete(name);
  return Object.fromEntries(own.filter(([, value]) => value !== ""));
}

/** The user id of the agent: 0 for root, null where the system has none. */
export const ownUser = (): number | null => Deno.uid();

/** The default state directory: in the user's state directory of the system. */
export function defaultStateDir(): string {
  const windows = Deno.build.os === "windows";
  const base = Deno.env.get(windows ? "LOCALAPPDATA" : "XDG_STATE_HOME");
  if (base) return `${base}/relay-agent`;
  const home = Deno.env.get(windows ? "USERPROFILE" : "HOME");
  return home ? `${home}/.local/state/relay-agent` : "./relay-agent";
}

/** An absolute path without a trailing slash. */
export function absolutePath(path: string): string {
  return resolve(path).replaceAll("\\", "/");
}

function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
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

/** Starts a shell with the command, as the agent's own user or as another one. */
function spawn(command: string, account?: Account): ChildProcess {
  const windows = Deno.build.os === "windows";
  const [shell, args] = windows
    ? ["powershell.exe", ["-NoProfile", "-NonInteractive", "-Command", command]] as const
    : ["sh", ["-c", command]] as const;
  // Only `spawn` honours `detached`, which makes a session and a process group; `output` ignores it.
  const child = new Deno.Command(shell, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: true,
    ...(account && rightsOf(account)),
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

/** The options that run a process as another user. The system drops root's other groups, too. */
const rightsOf = ({ name, uid, gid, home }: Account) => ({
  uid,
  gid,
  cwd: home,
  env: { HOME: home, USER: name, LOGNAME: name },
});

/** Signals a process group (0 only checks it); false when it does not exist. */
function signalGroup(leader: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

/** Windows has no process groups to signal, so its own tool ends the tree of children. */
function killTree(leader: number): void {
  new Deno.Command("taskkill", {
    args: ["/T", "/F", "/PID", String(leader)],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}
