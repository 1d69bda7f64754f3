import { agents } from "../../../kv/records/agent.ts";
import type { Reading } from "../../work/work.ts";
import {
  type Examination,
  examineCommand,
  type Policy,
  type PolicyRule,
  RULES,
  UNKNOWN,
} from "../../shield/shield.ts";
import { Slice } from "../guard/slice.ts";
import { holdsSecret } from "./literal_secret.ts";

/** The longest line that a policy may hold. */
export const LINE_CHARS_MAX = 4 * 1024;
/** A line is proposed when people approved it this often, and never did otherwise. */
const APPROVED_MIN = 3;
/** The most lines of one proposal, the most that a policy's rule may hold. */
const LINES_MAX = 64;
/** The most lines of all proposals, the most tests that a policy may hold. */
const TESTS_MAX = 100;
/** The most lines that one report examines. */
const EXAMINED_MAX = 500;
/** The most bytes of all proposals as JSON; the rest of a policy's 32 KiB is for its other rules. */
const BYTES_MAX = 24 * 1024;
/** JSON around one rule, and around one line and its test. */
const RULE_BYTES = 256;
const TEST_BYTES = 64;

/** What people decided about one command line, whichever rule held it. */
export interface Line {
  held: number;
  approved: number;
  /** False after a rule of a policy or a chain held it. */
  isProposable: boolean;
  /** The agents that it was meant for; null stands for those of fleet commands. */
  readonly agents: Set<string | null>;
}

type Labels = Readonly<Record<string, string>>;

/** Whether a built-in rule judges single commands, so that a policy may allow what it holds. */
export const isBuiltIn = (rule: string): boolean => BUILT_IN.has(rule);
const BUILT_IN = new Set(RULES.filter(({ pack }) => pack !== "behaviour").map(({ id }) => id));

/** A line that a policy's rule would allow. */
interface Candidate {
  readonly text: string;
  readonly line: Line;
  readonly examination: Examination;
}

/** Proposes rules for lines that people always approved, within one budget for the whole report. */
export class Proposals {
  readonly #slice = new Slice();
  readonly #labels = new Map<string, Labels | null>();
  readonly #seen = new Set<string>();
  #rules = 0;
  #lines = TESTS_MAX;
  #bytes = BYTES_MAX;

  constructor(private readonly work: Reading, private readonly lines: ReadonlyMap<string, Line>) {}

  /** A policy that allows those of the lines that were always approved; null when there is none. */
  async forLines(held: Iterable<string>): Promise<Policy | null> {
    const always = [...held].map((line) => [line, this.lines.get(line)!] as const)
      .filter(([line, { held, approved, isProposable }]) =>
        isProposable && approved >= APPROVED_MIN && approved === held && !this.#seen.has(line)
      ).sort(([, a], [, b]) => b.held - a.held);
    const candidates: Candidate[] = [];
    for (const [text, line] of always) {
      if (candidates.length === Math.min(LINES_MAX, this.#lines)) break;
      if (this.#seen.size === EXAMINED_MAX) break;
      this.#seen.add(text);
      if (holdsSecret(text)) continue;
      const examination = examineCommand(text);
      const isAllowed = this.#allows(text, examination, {});
      await this.#slice.ended();
      if (isAllowed && !holdsUnknown(examination)) candidates.push({ text, line, examination });
    }
    const labels = await this.#sharedLabels(candidates.map(({ line }) => line));
    const allowed = labels === null
      ? candidates
      : candidates.filter(({ text, examination }) => this.#allows(text, examination, labels));
    const fitting = this.#fitting(allowed.map(({ text }) => text), labels);
    if (fitting.length === 0) return null;
    const match = labels === null ? { lines: fitting } : { lines: fitting, labels };
    const labelled = labels === null ? {} : { labels };
    return {
      rules: [{ ...ruleFor(match), id: `always-approved-${++this.#rules}` }],
      tests: fitting.map((command) => ({ command, ...labelled, expect: "allow" as const })),
    };
  }

  /** Whether a rule that names the line would allow it; another rule may still hold it. */
  #allows(line: string, examination: Examination, labels: Labels): boolean {
    const policy = { rules: [ruleFor({ lines: [line] })] };
    const circumstances = { labels, who: null, atMs: null };
    return this.#slice.judge(examination, policy, circumstances).verdict === "allow";
  }

  /** The labels that all agents of these lines share at present; null when there are none. */
  async #sharedLabels(lines: readonly Line[]): Promise<Labels | null> {
    let shared: [string, string][] | null = null;
    for (const id of new Set(lines.flatMap(({ agents }) => [...agents]))) {
      if (id === null) return null;
      const labels = await this.#labelsOf(id);
      if (labels === null) continue;
      shared = (shared ?? Object.entries(labels)).filter(([name, value]) =>
        Object.hasOwn(labels, name) && labels[name] === value && name !== "" && value !== ""
      );
    }
    return shared === null || shared.length === 0 ? null : Object.fromEntries(shared);
  }

  /** The labels of an agent; null for a deleted one. */
  async #labelsOf(id: string): Promise<Labels | null> {
    const known = this.#labels.get(id);
    if (known !== undefined) return known;
    const { db, actor: { tenant } } = this.work;
    const labels = (await db.get(agents, tenant, id))?.labels ?? null;
    this.#labels.set(id, labels);
    return labels;
  }

  /** The lines for which the budget suffices. */
  #fitting(lines: readonly string[], labels: Labels | null): string[] {
    const around = jsonBytes(labels ?? {});
    let left = this.#bytes - RULE_BYTES - around;
    const fitting = lines.filter((line) => {
      const bytes = 2 * jsonBytes(line) + TEST_BYTES + around;
      if (bytes > left) return false;
      left -= bytes;
      return true;
    });
    if (fitting.length > 0) {
      this.#bytes = left;
      this.#lines -= fitting.length;
    }
    return fitting;
  }
}

const jsonBytes = (value: unknown): number =>
  new TextEncoder().encode(JSON.stringify(value)).length;

const ruleFor = (match: PolicyRule["match"]): PolicyRule => ({
  id: "always-approved",
  description: "people approved exactly these lines every time",
  match,
  verdict: "allow",
});

/** Whether a command depends on something that the line does not show, such as a variable. */
const holdsUnknown = ({ commands }: Examination): boolean =>
  commands.some(({ command: { program, args, redirections } }) =>
    [program, ...args, ...redirections.map(({ target }) => target)]
      .some((word) => word.includes(UNKNOWN))
  );
