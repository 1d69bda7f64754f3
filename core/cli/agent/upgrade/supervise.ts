import type { Clock, Log } from "../../../ports/ports.ts";
import { isOlder, type ProgramForm } from "../../../protocol/protocol.ts";
import { RESTART_EXIT_CODE, UPGRADE_EXIT_CODE } from "../agent.ts";
import {
  dropProgram,
  dropUnnamed,
  isWhole,
  type ProgramMarker,
  type ProgramStore,
  readMarker,
  type StoredProgram,
  writeMarker,
} from "./marker.ts";

/** The time in which a new program must be welcomed by the relay. */
const TRIAL_MS = 60_000;
/** A trusted program that ends within this time, before its first attempt to link was over, failed to start. */
const QUICK_MS = 60_000;
/** A trusted program that fails to start this often in a row is given up. */
const STARTS_MAX = 3;
/** The time before it is started again: a package manager may be replacing Deno. */
const RETRY_MS = 5_000;

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
  readonly clock: Pick<Clock, "after" | "monotonic">;
  readonly log: Log;
  /** The version of the installed program, which supervises. */
  readonly version: string;
  /** How that is installed. */
  readonly form: ProgramForm;
  /** Aborted to stop. */
  readonly signal: AbortSignal;
  /** Runs the installed program's own agent; resolves to its exit code. */
  runInstalled(): Promise<number>;
  /** Starts a stored program. @throws when the system cannot start it */
  start(program: StoredProgram): AgentProcess;
}

/**
 * Runs the agent until it ends for good; resolves to its exit code. A new program is on trial until the relay has
 * welcomed it. If it ends before, or takes longer than TRIAL_MS, the program before it runs again. A trusted program
 * that fails to start STARTS_MAX times in a row is given up for the installed one. It notes itself that its first attempt
 * to link was over, so a relay that cannot be reached does not count.
 */
export async function superviseAgent(parts: SupervisorParts): Promise<number> {
  const { clock, log, signal, version, form } = parts;
  /** A decision that could not be stored, because the disk may be full. It holds for the next program. */
  let unwritten: ProgramMarker | null = null;
  /** Failed starts of the trusted program in a row. */
  let failedStarts = 0;

  try {
    dropUnnamed(parts);
  } catch (error) {
    log.warn(`programs that no upgrade uses cannot be removed: ${error}`);
  }
  for (;;) {
    const code = await runNext();
    const again = code === null || endsToStartAgain(code);
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
        : defectOf(candidate);
      return why === null ? await tryOut(candidate) : giveUp("candidate", candidate, why);
    }
    if (trusted === null) return await parts.runInstalled();
    if (!isOlder(version, trusted.version)) {
      return decide({ ...readMarker(parts), trusted: null }, trusted);
    }
    const why = defectOf(trusted);
    return why === null ? await runTrusted(trusted) : giveUp("trusted", trusted, why);
  }

  /** Why a stored program cannot run here; null when it can. */
  function defectOf(program: StoredProgram): string | null {
    if (form === "executable" && program.form === "bundle") {
      return "it is a bundle, and the installed program is a compiled executable";
    }
    return isWhole(parts, program) ? null : "its file is damaged";
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
      return giveUp("candidate", candidate, `it cannot be started: ${error}`);
    }
    if (isTrusted()) return code;
    const why = late
      ? `the relay did not welcome it within ${TRIAL_MS / 1000} s`
      : `it ended with exit code ${code} before the relay had welcomed it`;
    return giveUp("candidate", candidate, why);
  }

  async function runTrusted(trusted: StoredProgram): Promise<number | null> {
    const startedMs = clock.monotonic();
    let code: number | null = null;
    let why: string;
    try {
      noteStart(trusted);
      code = await endOf(parts.start(trusted));
      const wasQuick = clock.monotonic() - startedMs < QUICK_MS;
      if (!wasQuick || endsToStartAgain(code) || readMarker(parts).trusted?.ran === true) {
        failedStarts = 0;
        return code;
      }
      why = `it ended with exit code ${code} before it had tried to reach the relay`;
    } catch (error) {
      why = `it cannot be started: ${error}`;
    }
    log.error(`version ${trusted.version} failed to start: ${why}`);
    await pause(RETRY_MS);
    if (signal.aborted) return code;
    failedStarts++;
    if (failedStarts < STARTS_MAX) return null;
    failedStarts = 0;
    return giveUp("trusted", trusted, `it failed to start ${STARTS_MAX} times in a row: ${why}`);
  }

  /** Notes that this start has yet to prove itself. */
  function noteStart(trusted: StoredProgram): void {
    try {
      writeMarker(parts, { ...readMarker(parts), trusted: { ...trusted, ran: false } });
    } catch (error) {
      // Its end counts as that of a program that started well.
      log.error(`the start of version ${trusted.version} cannot be stored: ${error}`);
    }
  }

  async function endOf(process: AgentProcess): Promise<number> {
    const stop = () => process.stop();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    return await process.ended.finally(() => signal.removeEventListener("abort", stop));
  }

  /** Resolves after `ms`, or at once when the agent is to stop. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const cancel = clock.after(ms, end);
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
    });
  }

  /** Gives a stored program up. The one before it runs next, and tells the relay why. */
  function giveUp(slot: "trusted" | "candidate", program: StoredProgram, why: string): null {
    log.error(`version ${program.version} was given up: ${why}`);
    const { job_id } = program;
    const failed = { job_id, message: why.slice(0, 500).toWellFormed() };
    return decide({ ...readMarker(parts), [slot]: null, failed }, program);
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

/** True for the end of an agent that the relay restarts or upgrades: it was linked. */
const endsToStartAgain = (code: number): boolean =>
  code === RESTART_EXIT_CODE || code === UPGRADE_EXIT_CODE;
