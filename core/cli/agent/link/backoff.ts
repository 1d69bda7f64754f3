/** The first delay before dialling again. */
const FIRST_MS = 250;
/** The longest delay: with the same time for a handshake on a busy machine, an agent reconnects within 5 s. */
const LONGEST_MS = 2_500;

/**
 * The delay before dialling again, in milliseconds: doubles with each failure, with jitter over its upper half by
 * `unit` (uniform in [0, 1)), so that many agents do not reconnect at once.
 */
export function backoffMs(failures: number, unit: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.round(ceiling * (0.5 + 0.5 * unit));
}
