import { type Answer, type Client, UnreachedError } from "../clients/status_client.ts";
import type { Random } from "../support/random.ts";

/** Kinds of wrong answers that are kept with their words; others are only counted. */
const FAULTS_KEPT = 100;

/** After a large step back of the relay's clock agents refuse its verdicts, and link again. */
const RELINK = /AGENT_OFFLINE|UNAVAILABLE|COMMAND_LOST/;
const RELINKED_MS = 20_000;
/** After a step forward the time of what was under way is over. */
const LATE = /did not answer in time/;
const STEPPED_MS = 1_000;

/** Something that is done again and again. */
export interface Job {
  readonly name: string;
  /** The mean pause between two times. */
  readonly everyMs: number;
  readonly act: () => Promise<void>;
}

/** All the work of a soak: jobs that go on until it is over, and rest while there is no relay. */
export class Work {
  readonly #over = new AbortController();
  readonly #faults = new Map<string, number>();
  readonly #found: string[] = [];
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => {};
  /** True while there is no relay. */
  isPaused = false;
  #running: Promise<void>[] = [];
  /** How often the relay was taken away. */
  #outages = 0;
  /** When agents are linked again that had to link again. */
  #relinkedMs = 0;
  /** When the relay knows that its clock was stepped forward. */
  #steppedMs = 0;
  /** Answers since the last look. */
  answered = 0;
  /** Answers of everybody's jobs, by name. */
  readonly times = new Map<string, number>();

  constructor(private readonly dice: Random) {}

  /** What was answered otherwise than it must be, and how often; then what an examination found. */
  get faults(): string[] {
    const answers = [...this.#faults].map(([what, times]) =>
      times === 1 ? what : `${times} times: ${what}`
    );
    return [...answers, ...this.#found];
  }

  /** Resolves when all is over. */
  readonly ended = new Promise<null>((resolve) =>
    this.#over.signal.addEventListener("abort", () => resolve(null))
  );

  get over(): boolean {
    return this.#over.signal.aborted;
  }

  fault(where: string, error: unknown): void {
    const what = `${where}: ${error instanceof Error ? error.message : error}`;
    // Ids and numbers differ each time.
    const kind = what.replaceAll(/\b(m\d+|[a-z]{3}_\w{10,}|\d{4,})\b/g, "…");
    const known = this.#faults.has(kind) || this.#faults.size < FAULTS_KEPT;
    const name = known ? kind : "further kinds of faults";
    this.#faults.set(name, (this.#faults.get(name) ?? 0) + 1);
  }

  /** Adds faults that an examination found, however many. */
  record(found: readonly string[]): void {
    for (const fault of found) this.#found.push(fault);
  }

  begin(jobs: readonly Job[]): void {
    this.#running.push(...jobs.map((job) => this.#goOn(job)));
  }

  /** Resolves when every job has ended what it was doing. */
  async end(): Promise<void> {
    this.#over.abort();
    this.#open();
    await Promise.all(this.#running);
  }

  /** No request begins from now on until `resume`. */
  pause(): void {
    this.isPaused = true;
    this.#outages++;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    this.#open = resolve;
  }

  resume(): void {
    this.isPaused = false;
    this.#open();
  }

  /** For a while commands may be refused, because agents link again. */
  expectRelinks(): void {
    this.#relinkedMs = performance.now() + RELINKED_MS;
  }

  /** What is under way now may be refused, because its time is over by the relay's clock. */
  expectLate(): void {
    this.#steppedMs = performance.now() + STEPPED_MS;
  }

  /** Resolves while there is a relay. */
  ready(): Promise<void> {
    return this.#gate;
  }

  /** Resolves after so long, or when all is over. */
  async rest(ms: number): Promise<void> {
    if (this.over || ms <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const end = () => resolve();
    this.#over.signal.addEventListener("abort", end);
    await promise;
    this.#over.signal.removeEventListener("abort", end);
    clearTimeout(timer);
  }

  /** A client whose requests wait for a relay. */
  patient(client: Client): Client {
    return async <Body>(...request: Parameters<Client>): Promise<Answer<Body>> => {
      await this.#gate;
      const answer = await client<Body>(...request);
      this.answered++;
      return answer;
    };
  }

  async #goOn({ name, everyMs, act }: Job): Promise<void> {
    await this.rest(everyMs * this.dice.unit());
    while (!this.over) {
      await this.#gate;
      if (this.over) return;
      const outages = this.#outages;
      const beganMs = performance.now();
      try {
        await act();
        this.times.set(name, (this.times.get(name) ?? 0) + 1);
      } catch (error) {
        // A broken connection is what a crash looks like; an answer must still be the right one.
        const isCrash = error instanceof UnreachedError && outages !== this.#outages;
        const isRelink = beganMs < this.#relinkedMs && RELINK.test((error as Error).message);
        const isLate = beganMs < this.#steppedMs && LATE.test((error as Error).message);
        if (!isCrash && !isRelink && !isLate) this.fault(name, error);
      }
      await this.rest(everyMs * (0.5 + this.dice.unit()));
    }
  }
}

/** The body of an answer that must have one of these statuses. @throws {Error} with the answer instead */
export function oneOf<Body>(
  { status, body }: Answer<Body>,
  statuses: readonly number[],
  what: string,
): Body {
  if (statuses.includes(status)) return body;
  const text = JSON.stringify(body)?.slice(0, 300);
  throw new Error(
    `${what} was answered with ${status} instead of ${statuses.join(" or ")}: ${text}`,
  );
}
