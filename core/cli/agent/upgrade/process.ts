import { programPath, type ProgramStore, type StoredProgram } from "./marker.ts";
import type { AgentProcess } from "./supervise.ts";

/** The variable that tells a stored program the upgrade that brought it. */
export const UPGRADE_VARIABLE = "RELAY_AGENT_UPGRADE";

/** A bundle gets what `deno task start` gives, and nothing from a folder that it happens to start in. */
const DENO = ["run", "-A", "--no-config", "--no-prompt"];
const UNSTABLE = ["--unstable-kv", "--unstable-cron", "--unstable-net"];

/** How the installed program was started, so that a stored one starts in the same way. */
export interface Invocation {
  /** The arguments after `relay agent`. */
  readonly args: readonly string[];
  /** The agent's own variables, which were taken out of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** The credential that came from standard input; null when it came from elsewhere. */
  readonly stdin: string | null;
}

/** Starts a stored program as the installed one was started. @throws when the system cannot start it */
export function startStored(
  store: ProgramStore,
  program: StoredProgram,
  { args, environment, stdin }: Invocation,
): AgentProcess {
  const path = programPath(store, program);
  const [command, before] = program.form === "bundle"
    ? [Deno.execPath(), [...DENO, ...UNSTABLE, path]]
    : [path, []];
  const child = new Deno.Command(command, {
    args: [...before, "agent", ...args],
    env: { ...environment, [UPGRADE_VARIABLE]: program.job_id },
    // The pipe ends with this process, however it dies, and the program with it.
    stdin: "piped",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  if (stdin !== null) {
    const writer = child.stdin.getWriter();
    // A program that ended at once reads nothing; its exit code says why.
    writer.write(new TextEncoder().encode(`${stdin}\n`)).catch(() => {});
  }
  const signal = (name: "SIGTERM" | "SIGKILL") => {
    try {
      child.kill(name);
    } catch {
      // It has already ended.
    }
  };
  return {
    ended: child.status.then(({ code }) => code),
    stop: () => signal("SIGTERM"),
    kill: () => signal("SIGKILL"),
  };
}
