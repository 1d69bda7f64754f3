import { BUILTINS } from "../interpreter/builtins.ts";
import { fileNoterOf } from "./effects.ts";
import { factsOf } from "./families.ts";
import type { FileNoter } from "./family.ts";
import { newCommand, type SimpleCommand } from "../model.ts";
import { type ProgramRules, rulesFor } from "../packs/packs.ts";
import { copyFlat } from "../interpreter/parse.ts";
import type { Unwrapper } from "../interpreter/inner.ts";
import { unwrapperOf } from "../interpreter/unwrap.ts";

/** All that the tables say of a program, looked up once for each name. */
export interface Program {
  /** The name as the command spells it. */
  readonly written: string;
  /** Lower case, without its folder. */
  readonly name: string;
  /** Whether it contains no marker and no wildcard. */
  readonly isPlain: boolean;
  readonly hasFolder: boolean;
  /** Short options that take a value, of programs whose options are often bundled. */
  readonly valuedLetters: string | null;
  readonly rules: ProgramRules | null;
  readonly noteFiles: FileNoter | null;
  readonly isBuiltin: boolean;
  readonly unwrap: Unwrapper;
  /** Whether it never runs another program; false until its unwrapper has answered null. */
  runsNothing: boolean;
}

/** Programs that were looked up; the map starts anew when it is full. */
const PROGRAMS_MAX = 2_048;
const programs = new Map<string, Program>();

const VALUED_LETTERS = factsOf("valuedLetters");

/** Looks a program up by its spelling. */
export function programOf(written: string): Program {
  const known = programs.get(written);
  if (known !== undefined) return known;
  if (programs.size >= PROGRAMS_MAX) programs.clear();
  const program = lookUp(copyFlat(written));
  programs.set(program.written, program);
  return program;
}

function lookUp(written: string): Program {
  const name = copyFlat(nameOf(written));
  return {
    written,
    name,
    isPlain: isPlain(written),
    hasFolder: written.includes("/"),
    valuedLetters: VALUED_LETTERS.get(name) ?? null,
    rules: rulesFor(name),
    noteFiles: fileNoterOf(name),
    isBuiltin: BUILTINS.has(name),
    unwrap: INIT_SCRIPTS.some((folder) => written.startsWith(folder))
      ? unwrapService
      : unwrapperOf(name),
    runsNothing: false,
  };
}

/** The same command under the name of another program. */
export function renamed(command: SimpleCommand, name: string): SimpleCommand {
  return newCommand({ ...command, name, valuedLetters: programOf(name).valuedLetters });
}

/** `/usr/bin/RM.exe` is `rm`: folders do not matter, and some disks ignore case. */
function nameOf(program: string): string {
  const slash = Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\"));
  const lower = program.slice(slash + 1).toLowerCase();
  const name = lower.endsWith(".exe") ? lower.slice(0, -4) : withoutVersion(lower);
  return VARIANTS.get(name) ?? name;
}

/** `npx prisma@5` runs `prisma`. */
function withoutVersion(name: string): string {
  const at = name.indexOf("@", 1);
  return at < 0 ? name : name.slice(0, at);
}

/** Variants of a program for different kernel interfaces. */
const VARIANTS: ReadonlyMap<string, string> = new Map(
  ["iptables", "ip6tables", "iptables-restore", "ip6tables-restore"].flatMap((name) => {
    const [first = "", ...rest] = name.split("-");
    return ["legacy", "nft"].map((kind) => [[first, kind, ...rest].join("-"), name] as const);
  }),
);

/** The folders of scripts that start and stop services. */
const INIT_SCRIPTS = ["/etc/init.d/", "/etc/rc.d/", "/usr/local/etc/rc.d/"];

/** `/etc/init.d/sshd stop` is `service sshd stop`. */
const unwrapService: Unwrapper = ({ name, args }) => [
  { kind: "argv", argv: ["service", name, ...args] },
];

function isPlain(program: string): boolean {
  for (let i = 0; i < program.length; i++) {
    const c = program.charCodeAt(i);
    if (c < 0x20 || c === 0x2a || c === 0x3f || c === 0x5b) return false;
  }
  return true;
}
