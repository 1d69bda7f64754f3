/** The wall clock, in ms. Processes agree on it; `performance.timeOrigin` of each keeps the time of its start. */
export const wallMs = (): number => Number(Temporal.Now.instant().epochNanoseconds) / 1e6;
