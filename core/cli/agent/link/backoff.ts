/** The first wait before the link is dialled again. */
const FIRST_MS = 250;
/** The longest wait: with as long for a handshake on a busy machine, an agent is back within 5 s. */
const LONGEST_MS = 2_500;

/**
 * How long to wait before dialling again, in milliseconds: doubles with each failure, and is spread
 * over its upper half by `unit` (uniform in [0, 1)) so that many agents do not come back at once.
 */
export function backoffMs(failures: number, unit: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.round(ceiling * (0.5 + 0.5 * unit));
}
