import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { RecentMap } from "../../../kv/store/recent.ts";

/** Attempts under way at once, over all webhooks. */
export const CONCURRENCY = 336;
/**
 * What an organization may have under way, however many webhooks it has and however slowly they answer: the
 * rest is for the others, of whom fan-out makes up to 80 deliveries at once.
 */
export const ORGANIZATION_MAX = 256;
/** What a webhook may have under way at most. */
const WIDTH_MAX = 16;
/** One that answers may have this many as long as half of the house is free. */
export const WIDTH_FREE_MAX = 64;
/** What it begins with: it doubles with each success and halves with each attempt that got no answer. */
const WIDTH_FIRST = 4;
/** Webhooks whose last attempt got no answer share this many, so that they cannot fill the house. */
const SUSPECTS_MAX = CONCURRENCY / 2;
/** Longer than a rate's window: who waits longer does so by a clock that has been set right since. */
const WAIT_MS_MAX = 2 * 60 * 1000;
/** Webhooks that have nothing to send and whose width is still known. */
const WIDTHS_KEPT = 10_000;

/** What is waiting and under way for one webhook, as far as this process knows. */
export interface Lane {
  readonly id: string;
  readonly tenant: Tenant;
  readonly webhookId: string;
  /** When it has something due at the earliest; Infinity for nothing that is known. */
  dueMs: number;
  /** Before this nothing is sent, because its rate is used up. */
  notBeforeMs: number;
  running: number;
  width: number;
  suspect: boolean;
  /** True while its due deliveries are being taken. */
  claiming: boolean;
  /** The earliest entry in the heap; a later due time needs none of its own. */
  timerMs: number;
}

interface Timer {
  readonly atMs: number;
  readonly lane: Lane;
}

/** Lanes that could begin something: organizations take turns, and the webhooks of each. */
class Turns {
  readonly #byOrg = new Map<string, Set<Lane>>();

  add(lane: Lane): void {
    const { org } = lane.tenant;
    const lanes = this.#byOrg.get(org);
    if (lanes === undefined) this.#byOrg.set(org, new Set([lane]));
    else lanes.add(lane);
  }

  delete(lane: Lane): boolean {
    const { org } = lane.tenant;
    const lanes = this.#byOrg.get(org);
    const was = lanes?.delete(lane) ?? false;
    if (lanes?.size === 0) this.#byOrg.delete(org);
    return was;
  }

  /** Takes out the next lane of the next organization that has room; null when there is none. */
  take(hasRoom: (org: string) => boolean): Lane | null {
    for (const [org, lanes] of this.#byOrg) {
      if (!hasRoom(org)) continue;
      const [lane] = lanes;
      this.#byOrg.delete(org);
      lanes.delete(lane!);
      if (lanes.size > 0) this.#byOrg.set(org, lanes);
      return lane!;
    }
    return null;
  }
}

/**
 * Who may send now. Each webhook has a lane, and lanes take turns, so the backlog of a slow one is never
 * looked through on the way to the others. A lane that is full, or waits for its rate, costs nothing until
 * that changes.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  /** Lanes with something due and room for it, in the order of their turns. */
  readonly #ready = { trusted: new Turns(), suspect: new Turns() };
  #suspectsTurn = false;
  readonly #timers: Timer[] = [];
  /** What those that answered had reached, so that a pause does not make them begin anew. */
  readonly #widths = new RecentMap<number>(WIDTHS_KEPT);
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  #suspects = 0;

  /** Attempts under way or about to be. */
  get running(): number {
    return this.#running;
  }

  /** Attempts of an organization's under way or about to be. */
  runningOf(org: string): number {
    return this.#runningOf.get(org) ?? 0;
  }

  /** How many more an organization may have. */
  roomFor(org: string): number {
    return Math.min(CONCURRENCY - this.#running, ORGANIZATION_MAX - this.runningOf(org));
  }

  /** The webhook has a delivery that is due then. */
  announce(tenant: Tenant, webhookId: string, dueMs: number, nowMs: number): void {
    const lane = this.#laneOf(tenant, webhookId);
    if (dueMs > lane.dueMs) return;
    lane.dueMs = dueMs;
    this.#schedule(lane, nowMs);
  }

  /**
   * Reserves an attempt for a delivery that is not there yet, when nothing stands before it and its webhook
   * answers; null when it has to wait in line.
   */
  reserve(tenant: Tenant, webhookId: string, nowMs: number): Lane | null {
    if (this.#running >= CONCURRENCY) return null;
    const lane = this.#laneOf(tenant, webhookId);
    const waits = lane.claiming || lane.suspect || lane.dueMs <= nowMs ||
      notBefore(lane, nowMs) > nowMs;
    const room = !waits && this.#roomOf(lane) > 0;
    if (room) this.#reserve(lane, 1);
    else this.#schedule(lane, nowMs);
    return room ? lane : null;
  }

  /**
   * The next lane to take from, and how many: as many attempts are reserved, until `begun` and `ended` tell
   * what became of them. Null when nothing is due that may begin.
   */
  next(nowMs: number, most: number): { lane: Lane; room: number } | null {
    this.#ripen(nowMs);
    if (this.#running >= CONCURRENCY) return null;
    const { trusted, suspect } = this.#ready;
    this.#suspectsTurn = !this.#suspectsTurn;
    const order = this.#suspectsTurn ? [suspect, trusted] : [trusted, suspect];
    for (const turns of order) {
      if (turns === suspect && this.#suspects >= SUSPECTS_MAX) continue;
      for (;;) {
        const lane = turns.take((org) => this.roomFor(org) > 0);
        if (lane === null) break;
        const room = Math.min(most, this.#roomOf(lane));
        if (room <= 0) continue;
        lane.claiming = true;
        lane.dueMs = Infinity;
        this.#reserve(lane, room);
        return { lane, room };
      }
    }
    return null;
  }

  /** Of what was reserved, so many attempts have begun; `nextMs` is when the lane has more. */
  begun(lane: Lane, reserved: number, taken: number, nextMs: number, nowMs: number): void {
    lane.claiming = false;
    this.#reserve(lane, taken - reserved);
    lane.dueMs = Math.min(lane.dueMs, nextMs);
    this.#schedule(lane, nowMs);
  }

  /** An attempt has ended; `answered` is null when it was not made after all. */
  ended(lane: Lane, answered: boolean | null, nowMs: number): void {
    this.#reserve(lane, -1);
    if (answered !== null) {
      this.#trust(lane, answered);
      lane.width = answered ? Math.min(WIDTH_MAX, lane.width * 2) : Math.max(1, lane.width >> 1);
    }
    this.#schedule(lane, nowMs);
  }

  /** When something becomes due at the earliest, or Infinity. */
  get nextMs(): number {
    return this.#timers[0]?.atMs ?? Infinity;
  }

  #laneOf(tenant: Tenant, webhookId: string): Lane {
    const id = `${tenantKey(tenant)}/${webhookId}`;
    const known = this.#lanes.get(id);
    if (known !== undefined) return known;
    const lane: Lane = {
      id,
      tenant,
      webhookId,
      dueMs: Infinity,
      notBeforeMs: 0,
      running: 0,
      width: this.#widths.get(id) ?? WIDTH_FIRST,
      suspect: false,
      claiming: false,
      timerMs: Infinity,
    };
    this.#lanes.set(id, lane);
    return lane;
  }

  #roomOf(lane: Lane): number {
    const own = Math.min(this.roomFor(lane.tenant.org), this.#limitOf(lane) - lane.running);
    return lane.suspect ? Math.min(own, SUSPECTS_MAX - this.#suspects) : own;
  }

  #limitOf({ width, running }: Lane): number {
    if (width < WIDTH_MAX) return width;
    const free = Math.max(0, CONCURRENCY / 2 - this.#running);
    return Math.max(WIDTH_MAX, Math.min(WIDTH_FREE_MAX, running + free));
  }

  #reserve(lane: Lane, n: number): void {
    const { org } = lane.tenant;
    lane.running += n;
    this.#running += n;
    const sum = this.runningOf(org) + n;
    if (sum === 0) this.#runningOf.delete(org);
    else this.#runningOf.set(org, sum);
    if (lane.suspect) this.#suspects += n;
  }

  #trust(lane: Lane, answered: boolean): void {
    if (lane.suspect === !answered) return;
    const { trusted, suspect } = this.#ready;
    const [from, to] = answered ? [suspect, trusted] : [trusted, suspect];
    if (from.delete(lane)) to.add(lane);
    lane.suspect = !answered;
    this.#suspects += answered ? -lane.running : lane.running;
  }

  /** Puts a lane where it belongs: among the ready ones, among those that wait for a time, or nowhere. */
  #schedule(lane: Lane, nowMs: number): void {
    const atMs = Math.max(lane.dueMs, notBefore(lane, nowMs));
    if (atMs === Infinity) {
      if (lane.running === 0 && !lane.claiming) this.#forget(lane);
      return;
    }
    if (atMs > nowMs) {
      if (atMs < lane.timerMs) {
        lane.timerMs = atMs;
        push(this.#timers, { atMs, lane });
      }
      return;
    }
    if (lane.claiming || lane.running >= this.#limitOf(lane)) return;
    (lane.suspect ? this.#ready.suspect : this.#ready.trusted).add(lane);
  }

  #forget({ id, width, suspect }: Lane): void {
    this.#lanes.delete(id);
    if (suspect) this.#widths.delete(id);
    else if (width > WIDTH_FIRST) this.#widths.set(id, width);
  }

  /** Timers that have come: their lanes are scheduled again. */
  #ripen(nowMs: number): void {
    while (this.nextMs <= nowMs) {
      const { atMs, lane } = pop(this.#timers);
      if (atMs !== lane.timerMs) continue;
      lane.timerMs = Infinity;
      if (this.#lanes.get(lane.id) === lane) this.#schedule(lane, nowMs);
    }
  }
}

/** When a lane's rate lets it send again. */
const notBefore = ({ notBeforeMs }: Lane, nowMs: number): number =>
  notBeforeMs > nowMs + WAIT_MS_MAX ? nowMs : notBeforeMs;

/** A binary heap, the earliest first. */
function push(heap: Timer[], timer: Timer): void {
  let at = heap.push(timer) - 1;
  while (at > 0) {
    const up = (at - 1) >> 1;
    if (heap[up]!.atMs <= timer.atMs) break;
    heap[at] = heap[up]!;
    at = up;
  }
  heap[at] = timer;
}

function pop(heap: Timer[]): Timer {
  const first = heap[0]!, last = heap.pop()!;
  if (heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let down = 2 * at + 1;
    if (down >= heap.length) break;
    if (down + 1 < heap.length && heap[down + 1]!.atMs < heap[down]!.atMs) down++;
    if (heap[down]!.atMs >= last.atMs) break;
    heap[at] = heap[down]!;
    at = down;
  }
  heap[at] = last;
  return first;
}
