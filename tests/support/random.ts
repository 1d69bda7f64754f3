/** Seeded randomness: the same seed gives the same run. */
export interface Random {
  readonly seed: number;
  /** Uniform in [0, 1). */
  unit(): number;
  /** A whole number from 0 up to, not including, `n`. */
  below(n: number): number;
  /** True with probability `p`. */
  chance(p: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** A copy in another order. */
  shuffle<T>(items: readonly T[]): T[];
}

/** mulberry32: 32 bits of state, good enough for tests. */
export function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What a property test draws from; print `seed` when it fails. */
export function random(seed: number): Random {
  const unit = mulberry32(seed);
  const below = (n: number) => Math.floor(unit() * n);
  return {
    seed,
    unit,
    below,
    chance: (p) => unit() < p,
    pick: (items) => {
      if (items.length === 0) throw new RangeError("nothing to pick from");
      return items[below(items.length)]!;
    },
    shuffle: (items) => {
      const out = [...items];
      for (let at = out.length - 1; at > 0; at--) {
        const other = below(at + 1);
        [out[at], out[other]] = [out[other]!, out[at]!];
      }
      return out;
    },
  };
}
