import type { Operations } from "../../../core/client/client.ts";

/** One thing that was checked, for people. `skipped`: there was nothing to check, or the browser cannot. */
export interface Step {
  readonly title: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly detail: string;
}

export type LogHead = Operations["audit.checkpoint"]["answer"];

/** What a browser keeps of a log between visits. It is no secret. */
export interface Kept {
  readonly note: string;
  readonly public_key: string;
}

/** How the steps learn what the relay says. */
export interface Sources {
  /** Which log it has to be: `relay/<organization>/<space>`. */
  readonly origin: string;
  readonly kept: Kept | null;
  /** The path from a log of `from` rows to one of `to`. */
  readonly consistency: (from: number, to: number) => Promise<readonly string[]>;
}

/** A step that was checked, with its words for either outcome. */
export const step = (title: string, passed: boolean, good: string, bad: string): Step => ({
  title,
  state: passed ? "passed" : "failed",
  detail: passed ? good : bad,
});
export const skipped = (title: string, detail: string): Step => ({
  title,
  state: "skipped",
  detail,
});

export const NO_ED25519 =
  "This browser cannot verify Ed25519. Use a newer one, or `relay audit verify`.";
