/** The agents of the first stage: a fault of the program shows on few. */
const CANARIES = 1;
/** The second stage: this share of all. */
const SHARE = 0.1;
/** Agents that are upgraded at the same time. */
const PARALLEL = 8;

/** How far an upgrade of several agents is. */
export interface Progress {
  readonly total: number;
  /** Agents that have been asked, ended ones included. */
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The number of failures that stops it. */
  readonly stopAfter: number;
}

/** How many more agents an upgrade may ask now: one alone, then a tenth of all, then the others. */
export function startable({ total, started, succeeded, failed, stopAfter }: Progress): number {
  const ended = succeeded + failed;
  const canaryFailed = failed > 0 && ended <= CANARIES;
  if (canaryFailed || failed >= stopAfter) return 0;
  const ends = [CANARIES, Math.ceil(total * SHARE), total];
  const end = ends.find((end) => ended < end) ?? total;
  return Math.max(0, Math.min(end, ended + PARALLEL, total) - started);
}
