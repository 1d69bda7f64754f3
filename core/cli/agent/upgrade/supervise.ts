import type { Clock, Log } from "../../../ports/ports.ts";
import { isOlder } from "../../../protocol/protocol.ts";
import { RESTART_EXIT_CODE, UPGRADE_EXIT_CODE } from "../agent.ts";
import {
  dropProgram,
  isWhole,
  type ProgramMarker,
  type ProgramStore,
  readMarker,
  type StoredProgram,
  writeMarker,
} from "./marker.ts";

/** The time in which a new program must be welcomed by the relay. */
const TRIAL_MS = 60_000;

/** An agent in a process of its own. */
export interface AgentProcess {
  /** Resolves to its exit code. */
  readonly ended: Promise<number>;
  /** Asks it to end. */
  stop(): void;
  kill(): void;
}

/** What the supervisor of an agent works with. */
export interface SupervisorParts extends ProgramStore {
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** The version of the installed program, which supervises. */
  readonly version: string;
  /** Aborted to stop. */
  readonly signal: AbortSignal;
  /** Runs the installed program's own agent; resolves to its exit code. */
  runInstalled(): Promise<number>;
  /** Starts a stored program. @throws when the system cannot start it */
  start(program: StoredProgram): AgentProcess;
}

/**
 * Runs the agent until it ends for good; resolves to its exit code. A new program is on trial until the relay has
 * welcomed it. If it ends before, or takes longer than TRIAL_MS, the program before it runs again.
 */
export async function superviseAgent(parts: SupervisorParts): Promise<number> {
  const { clock, log, signal, version } = parts;
  /** A decision that could not be stored, because the disk may be full. It holds for the next program. */
  let unwritten: ProgramMarker | null = null;

  for (;;) {
    const code = await runNext();
    const again = code === null || code === RESTART_EXIT_CODE || code === UPGRADE_EXIT_CODE;
    if (!again || signal.aborted) return code ?? 0;
  }

  /** Runs the program of the marker; null when another one must run in its place. */
  async function runNext(): Promise<number | null> {
    const { candidate, trusted } = unwritten ?? readMarker(parts);
    unwritten = null;
    // The installed program may have been replaced by one that is as new.
    if (candidate !== null && !isOlder(version, candidate.version)) {
      return decide({ ...readMarker(parts), candidate: null }, candidate);
    }
    if (candidate !== null) {
      const why = candidate.started
        ? "it was stopped before the relay had welcomed it"
        : isWhole(parts, candidate)
        ? null
        : "its file is damaged";
      return why === null ? await tryOut(candidate) : rollBack(candidate, why);
    }
    if (trusted === null) return await parts.runInstalled();
    if (!isOlder(version, trusted.version)) return forget(trusted, null);
    if (!isWhole(parts, trusted)) return forget(trusted, "its file is damaged");
    try {
      return await endOf(parts.start(trusted));
    } catch (error) {
      return forget(trusted, `it cannot be started: ${error}`);
    }
  }

  async function tryOut(candidate: StoredProgram): Promise<number | null> {
    const isTrusted = () => readMarker(parts).trusted?.job_id === candidate.job_id;
    log.info(`starting version ${candidate.version}`);
    let late = false;
    let code: number;
    try {
      writeMarker(parts, { ...readMarker(parts), candidate: { ...candidate, started: true } });
      const process = parts.start(candidate);
      const cancel = clock.after(TRIAL_MS, () => {
        if (isTrusted()) return;
        late = true;
        process.kill();
      });
      code = await endOf(process).finally(cancel);
    } catch (error) {
      return rollBack(candidate, `it cannot be started: ${error}`);
    }
    if (isTrusted()) return code;
    const why = late
      ? `the relay did not welcome it within ${TRIAL_MS / 1000} s`
      : `it ended with exit code ${code} before the relay had welcomed it`;
    return rollBack(candidate, why);
  }

  async function endOf(process: AgentProcess): Promise<number> {
    const stop = () => process.stop();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    return await process.ended.finally(() => signal.removeEventListener("abort", stop));
  }

  /** Gives a new program up. The one before it runs next, and tells the relay why. */
  function rollBack(program: StoredProgram, why: string): null {
    log.error(`version ${program.version} was given up: ${why}`);
    const { job_id } = program;
    const failed = { job_id, message: why.slice(0, 500).toWellFormed() };
    return decide({ ...readMarker(parts), candidate: null, failed }, program);
  }

  /** Returns to the installed program: it is as new, or `why` the stored one cannot run. */
  function forget(program: StoredProgram, why: string | null): null {
    if (why !== null) log.error(`version ${program.version} is not used any more: ${why}`);
    return decide({ ...readMarker(parts), trusted: null }, program);
  }

  function decide(marker: ProgramMarker, dropped: StoredProgram): null {
    try {
      writeMarker(parts, marker);
      dropProgram(parts, dropped);
    } catch (error) {
      log.error(`the choice of the program cannot be stored: ${error}`);
      unwritten = marker;
    }
    return null;
  }
}
