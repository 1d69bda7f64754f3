import { V8_FLAGS } from "../../../core/cli/program.ts";
import { type Loaded, openRelay } from "../target.ts";

/** A checkout of this repository. */
export interface Side {
  readonly root: string;
  /** The heap of its relays, as its task `start` gives it to them. */
  readonly flags: string;
  /** The relay of this side, started at the first use. */
  relay(): Promise<Loaded>;
}

/** What one side did. */
export interface Rate {
  /** How much in a second, or for a MiB of memory; more is better. */
  readonly per: number;
  /** The processor time of the relay for each, in ms, where it was measured. */
  readonly cpuMs?: number;
}

/** Measures one side. */
export type Run = (side: Side) => Promise<Rate>;

/** The side in this folder, which ends with a slash. */
export function sideOf(root: string): Side {
  const { start } = JSON.parse(Deno.readTextFileSync(`${root}deno.json`)).tasks;
  const flags = /--v8-flags=[^\s"]+/.exec(JSON.stringify(start))?.[0] ?? V8_FLAGS;
  let relay: Promise<Loaded> | null = null;
  return { root, flags, relay: () => relay ??= openRelay(root, flags) };
}
