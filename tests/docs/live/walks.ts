import { CALLS } from "./calls.ts";
import { COMMANDS } from "./commands.ts";
import { EVENTS } from "./events.ts";
import { OPERATE } from "./operate.ts";
import { PROVE } from "./prove.ts";
import { SERVICES } from "./services.ts";
import type { Walk } from "./world.ts";

/** How the blocks of each page are run, by page. */
export const WALKS: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  ...CALLS,
  ...COMMANDS,
  ...EVENTS,
  ...PROVE,
  ...OPERATE,
  ...SERVICES,
};
