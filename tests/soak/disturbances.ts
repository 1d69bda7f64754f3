import { clientOf } from "../clients/status_client.ts";
import { until } from "../cluster/wait.ts";
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
/** A verdict is valid for so long, by the clock that the relay had when its agent linked. */
const VERDICT_S = 60;
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

/** Kills the processes of a place and steps its clock. */
export class Disturber {
  #steps = 0;

  constructor(private readonly place: Place) {}

  /** Does what `kind` says. Returns what exactly was done. */
  async do(kind: Kind): Promise<string> {
    const { relay, victim, work } = this.place;
    switch (kind) {
      case "relay killed":
        return await this.#killRelay();
      case "agent killed":
        await victim.program.kill();
        await this.place.revive();
        return "the victim";
      case "clock stepped": {
        const seconds = STEPS_S[this.#steps++ % STEPS_S.length]!;
        if (seconds < -VERDICT_S) work.expectRelinks();
        if (seconds > 0) work.expectLate();
        await relay.step(seconds);
        return `${seconds > 0 ? "+" : ""}${seconds} s`;
      }
    }
  }

  /** Work rests until the relay and all agents are back. Returns how long they took. */
  async #killRelay(): Promise<string> {
    const { work } = this.place;
    work.pause();
    const took = await this.#killAndStart();
    work.resume();
    return took;
  }

  async #killAndStart(): Promise<string> {
    const { relay, echoes } = this.place;
    await relay.kill();
    const killedMs = performance.now();
    const sinceS = () => `${((performance.now() - killedMs) / 1000).toFixed(1)} s`;
    await relay.start();
    const ready = sinceS();
    await Promise.all([echoes.connect(), this.#linked("steady"), this.#linked("victim")]);
    return `ready again after ${ready}, with all agents after ${sinceS()}`;
  }

  /** Resolves when a command runs on the agent: what it printed may be about an earlier link. */
  async #linked(name: "steady" | "victim"): Promise<void> {
    const { relay, ownerKey, [name]: { id } } = this.place;
    const client = clientOf(relay.url, ownerKey);
    const runs = async () => (await client("GET", `/api/exec/${id}?command=uptime`)).status === 200;
    await until(`${name} is linked`, START_MS, runs);
  }
}
