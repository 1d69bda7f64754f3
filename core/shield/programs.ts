import { RecentMap } from "../../kv/recent.ts";
import { BUILTINS } from "./builtins.ts";
import { type FileNoter, fileNoterOf } from "./effects.ts";
import { type Shelf, shelfOf } from "./rules.ts";

/** What the tables say of a program: they are asked once for each name, not for each command. */
export interface Program {
  /** Lower case, without its folder. */
  readonly name: string;
  /** Whether it is letters, digits and the like: nothing unknown, no wildcard. */
  readonly isPlain: boolean;
  readonly hasFolder: boolean;
  readonly shelf: Shelf | null;
  readonly noteFiles: FileNoter | null;
  readonly isBuiltin: boolean;
  /** Whether it runs nothing else, whatever its arguments; false as long as nobody has looked. */
  runsNothing: boolean;
}

/** Programs are few, and named again and again. */
const NAME_CHARS_MAX = 32;
const programs = new RecentMap<Program>(2_048);

/** What is known of a program by how it is written. */
export function programOf(written: string): Program {
  const found = programs.get(written);
  if (found !== undefined) return found;
  const name = nameOf(written);
  const program: Program = {
    name,
    isPlain: isPlain(written),
    hasFolder: written.includes("/"),
    shelf: shelfOf(name),
    noteFiles: fileNoterOf(name),
    isBuiltin: BUILTINS.has(name),
    runsNothing: false,
  };
  if (written.length <= NAME_CHARS_MAX) programs.set(written, program);
  return program;
}

/** `/usr/bin/RM.exe` is `rm`: folders do not matter, and some disks ignore case. */
function nameOf(program: string): string {
  const slash = Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\"));
  const lower = program.slice(slash + 1).toLowerCase();
  const name = lower.endsWith(".exe") ? lower.slice(0, -4) : lower;
  // A property's name is kept once in memory: comparing it with the names in the tables costs nothing.
  return Object.keys({ [name]: null })[0]!;
}

function isPlain(program: string): boolean {
  for (let i = 0; i < program.length; i++) {
    const c = program.charCodeAt(i);
    if (c < 0x20 || c === 0x2a || c === 0x3f || c === 0x5b) return false;
  }
  return true;
}
