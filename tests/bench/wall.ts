/** The wall clock, in ms, which processes share. `performance.timeOrigin` is of one process, and keeps the error of its start. */
export const wallMs = (): number => Number(Temporal.Now.instant().epochNanoseconds) / 1e6;
