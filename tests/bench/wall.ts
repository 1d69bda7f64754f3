/** The wall clock, in ms: the same for all processes. `performance.timeOrigin` differs between them once the clock was corrected. */
export const wallMs = (): number => Number(Temporal.Now.instant().epochNanoseconds) / 1e6;
