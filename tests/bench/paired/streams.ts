import { median } from "../parts.ts";
import { openReaders, PLAIN, publisherOf, type Readers } from "../streams/burst.ts";
import type { Run, Side } from "./side.ts";

const READERS = 1_000;
/** The readers of each side that are open, and their subprotocol. */
const open = new Map<Side, { protocol: string; readers: Readers }>();

/** Readers at WebSockets by this subprotocol, or by what the side has instead. Those by another one end first. */
async function readersOf(side: Side, protocol: string): Promise<Readers> {
  const before = open.get(side);
  if (before?.protocol === protocol) return before.readers;
  before?.readers.end();
  const relay = await side.relay();
  const known = await import(`file://${side.root}routes/http/protocols.ts`);
  const has = Object.values(known).includes(protocol);
  const readers = await openReaders(publisherOf(relay), READERS, has ? protocol : PLAIN);
  open.set(side, { protocol, readers });
  return readers;
}

/** Messages a second of a burst of events. */
export const bursts = (seconds: number, protocol: string): Run => async (side) => {
  const readers = await readersOf(side, protocol);
  return { per: await readers.burst(Math.ceil(200 * seconds)) };
};

/** How often in a second one event could reach the last reader: the median of many. */
export const singles = (seconds: number): Run => async (side) => {
  const readers = await readersOf(side, PLAIN);
  const tookMs: number[] = [];
  while (tookMs.length < 25 * seconds) tookMs.push(await readers.single());
  return { per: 1000 / median(tookMs) };
};
