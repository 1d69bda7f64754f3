import type { Loaded } from "../target.ts";

/** A checkout of this repository. */
export interface Side {
  readonly root: string;
  /** The relay of this side, started at the first use. */
  relay(): Promise<Loaded>;
}

/** Measures one side: how much it did in a second, or got for a unit of a cost; more is better. */
export type Run = (side: Side) => Promise<number>;
