/** The first wait before the link is dialled again. */
const FIRST_MS = 250;
/** The longest wait: with a second for the handshake, an agent is back within 5 s of its relay. */
const LONGEST_MS = 4_000;

/**
 * How long to wait before dialling again, in milliseconds: doubles with each failure, and is spread
 * over its upper half by `unit` (uniform in [0, 1)) so that many agents do not come back at once.
 */
export function backoffMs(failures: number, unit: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.round(ceiling * (0.5 + 0.5 * unit));
}
