import { BUILTINS } from "../interpreter/builtins.ts";
import { fileNoterOf } from "./effects.ts";
import type { FileNoter } from "./family.ts";
import { type ProgramRules, rulesFor } from "../packs/packs.ts";
import { type Unwrapper, unwrapperOf } from "../interpreter/unwrap.ts";

/** All that the tables say of a program, looked up once for each name. */
export interface Program {
  /** The name as the command spells it. */
  readonly written: string;
  /** Lower case, without its folder. */
  readonly name: string;
  /** Whether it contains no marker and no wildcard. */
  readonly isPlain: boolean;
  readonly hasFolder: boolean;
  readonly rules: ProgramRules | null;
  readonly noteFiles: FileNoter | null;
  readonly isBuiltin: boolean;
  readonly unwrap: Unwrapper;
  /** Whether it never runs another program; false until its unwrapper has answered null. */
  runsNothing: boolean;
}

/**
 * Programs are few, and named again and again. Each has two places, and a newcomer takes one from another: a map
 * would hash every word that is cut out of a command, which costs more than all else here.
 */
const NAME_CHARS_MAX = 32;
const PLACES = 2_048;
const programs: (Program | null)[] = Array(PLACES).fill(null);

function placeOf(written: string): number {
  let sum = 0;
  for (let i = 0; i < written.length; i++) sum = (Math.imul(sum, 31) + written.charCodeAt(i)) | 0;
  return sum & (PLACES - 1);
}

/** Looks a program up by its spelling. */
export function programOf(written: string): Program {
  if (written.length > NAME_CHARS_MAX) return lookUp(written);
  const place = placeOf(written);
  const first = programs[place] ?? null;
  if (first?.written === written) return first;
  const second = programs[place ^ 1] ?? null;
  if (second?.written === written) return second;
  programs[place ^ 1] = first;
  return programs[place] = lookUp(written);
}

function lookUp(spelling: string): Program {
  const written = keepOnce(spelling);
  const lower = nameOf(written);
  const name = lower === written ? written : keepOnce(lower);
  return {
    written,
    name,
    isPlain: isPlain(written),
    hasFolder: written.includes("/"),
    rules: rulesFor(name),
    noteFiles: fileNoterOf(name),
    isBuiltin: BUILTINS.has(name),
    unwrap: written.startsWith("/etc/init.d/") ? unwrapService : unwrapperOf(name),
    runsNothing: false,
  };
}

/** `/usr/bin/RM.exe` is `rm`: folders do not matter, and some disks ignore case. */
function nameOf(program: string): string {
  const slash = Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\"));
  const lower = program.slice(slash + 1).toLowerCase();
  const name = lower.endsWith(".exe") ? lower.slice(0, -4) : lower;
  return VARIANTS.get(name) ?? name;
}

/** Variants of a program for different kernel interfaces. */
const VARIANTS: ReadonlyMap<string, string> = new Map(
  ["iptables", "ip6tables", "iptables-restore", "ip6tables-restore"].flatMap((name) => {
    const [first = "", ...rest] = name.split("-");
    return ["legacy", "nft"].map((kind) => [[first, kind, ...rest].join("-"), name] as const);
  }),
);

/** `/etc/init.d/sshd stop` is `service sshd stop`. */
const unwrapService: Unwrapper = ({ name, args }) => [
  { kind: "argv", argv: ["service", name, ...args] },
];

/**
 * The same text as a property's name, of which memory holds one: to compare it with the names in the tables costs
 * nothing, and the command that it was cut out of need not stay.
 */
const keepOnce = (text: string): string => Object.keys({ [text]: null })[0]!;

function isPlain(program: string): boolean {
  for (let i = 0; i < program.length; i++) {
    const c = program.charCodeAt(i);
    if (c < 0x20 || c === 0x2a || c === 0x3f || c === 0x5b) return false;
  }
  return true;
}
