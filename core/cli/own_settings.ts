import { readSettings, type Settings } from "../context/context.ts";

export type { Settings };

/** The settings of `relay serve` in this process's environment. @throws {Error} that says what to change */
export const ownSettings = (): Settings =>
  readSettings(Deno.env.toObject(), (path) => Deno.readTextFileSync(path), false);
