import type { Random } from "../support/random.ts";
import { START_MS } from "../support/processes.ts";
import type { Place } from "./place.ts";

/** Something that is done to the relay or an agent. */
type Kind = "relay killed" | "agent killed" | "clock stepped";

/** When it is done, in seconds after the start. */
export interface Disturbance {
  readonly kind: Kind;
  readonly atS: number;
}

/** What has been done, for the report. */
export interface Mark extends Disturbance {
  readonly about: string;
}

/** Steps of the clock by turns, in seconds: a minute or five ahead and back, and behind. */
const STEPS_S = [300, -300, -120, 120, 45, -45];
/** The relay is killed about so often, in the first half of a run: its last process lives for the second half. */
const KILLED_EVERY_S = 150;
const AGENT_KILLED_EVERY_S = 70;
const STEPPED_EVERY_S = 100;

/** When what is done in a run of so many seconds: each at least once, at times that the dice move a little. */
export function planOf(seconds: number, dice: Random): Disturbance[] {
  const spread = (kind: Kind, untilS: number, everyS: number): Disturbance[] => {
    const times = Math.max(1, Math.floor(untilS / everyS));
    return Array.from({ length: times }, (_, n) => ({
      kind,
      atS: untilS * (n + 0.25 + dice.unit() / 2) / times,
    }));
  };
  return [
    ...spread("relay killed", seconds / 2, KILLED_EVERY_S),
    ...spread("agent killed", seconds, AGENT_KILLED_EVERY_S),
    ...spread("clock stepped", seconds, STEPPED_EVERY_S),
  ].toSorted((a, b) => a.atS - b.atS);
}

/** Does them to a place. */
export class Disturber {
  #steps = 0;

  constructor(private readonly place: Place) {}

  /** Does one. Returns what exactly was done. */
  async do(kind: Kind): Promise<string> {
    const { relay, victim } = this.place;
    switch (kind) {
      case "relay killed": {
        const beganMs = performance.now();
        await this.#killRelay();
        return `away for ${((performance.now() - beganMs) / 1000).toFixed(1)} s, agents included`;
      }
      case "agent killed":
        await victim.program.kill();
        await this.place.revive();
        return "the victim";
      case "clock stepped": {
        const seconds = STEPS_S[this.#steps++ % STEPS_S.length]!;
        await relay.step(seconds);
        return `${seconds > 0 ? "+" : ""}${seconds} s`;
      }
    }
  }

  /** Work rests until the relay and all agents are back. */
  async #killRelay(): Promise<void> {
    const { relay, work, echoes, steady, victim } = this.place;
    work.pause();
    await relay.kill();
    await relay.start();
    await Promise.all([
      echoes.connect(),
      ...[steady, victim].map(({ program }) => program.line(/^connected to /, START_MS)),
    ]);
    work.resume();
  }
}
