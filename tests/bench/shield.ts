import { figure } from "./figures.ts";
import { decide, examineCommand, inspectCommand, Policy } from "../../core/shield/shield.ts";
import { ADVERSARIES, fillUp } from "../shield/adversaries.ts";
import { DANGEROUS, HARMLESS } from "../shield/field.ts";
import { sized } from "./size.ts";
import { CORES, OBFUSCATIONS, WRAPPERS } from "../shield/cases.ts";

const KIB = 1024;
/** The fastest of so many runs counts: what slows the others is the machine that all share. */
const RUNS = sized(5, 1);
const SCALE_RUNS = sized(15, 1);
/** Every so many of the commands are tried. */
const EVERY = sized(1, 50);

function timeMs(work: () => void): number {
  const before = performance.now();
  work();
  return performance.now() - before;
}

function fastestMs(command: string, runs: number): number {
  let fastest = Infinity;
  for (let run = 0; run < runs; run++) {
    fastest = Math.min(fastest, timeMs(() => inspectCommand(command)));
  }
  return fastest;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Every core, obfuscation and wrapper once. */
function forms(): string[] {
  return CORES.flatMap(({ danger, twin }) =>
    Object.values(OBFUSCATIONS).flatMap(({ hide, text }) =>
      Object.values(WRAPPERS).flatMap((wrap) => [wrap(hide(danger), text), wrap(hide(twin), text)])
    )
  );
}

/** Lines of daily work, one of them in eight dangerous, up to `length` characters. */
function script(length: number, start: number): string {
  let text = "";
  for (let i = start;; i++) {
    const lines = i % 8 === 0 ? DANGEROUS : HARMLESS;
    const line = `${lines[i % lines.length] ?? ""}\n`;
    if (text.length + line.length > length) return text === "" ? line : text;
    text += line;
  }
}

/** Scripts of all lengths up to 4 KiB, each doubling as often as the next. */
function scripts(): string[] {
  return Array.from({ length: 8_000 }, (_, i) => script(2 ** (5 + 7 * (i % 1_000) / 1_000), i));
}

/** Commands of 4 KiB that are long and not many. */
function bulky(): string[] {
  const words = "word ".repeat(800);
  const units = [
    `echo '${words}'`,
    `ls ${words}`,
    `git commit -m "${words}"`,
    `cat > notes.txt <<'EOF'\n${words.replaceAll("word ", "a line of text\n").slice(0, 3900)}\nEOF`,
    `curl -d '{"text":"${words.slice(0, 3900)}"}' https://api.example.com/items`,
    `python3 -c 'print("${words.slice(0, 3900)}")'`,
    `psql -c "INSERT INTO t VALUES ('${words.slice(0, 3900)}')"`,
  ];
  return Array.from({ length: 200 }, () => units).flat();
}

function report(name: string, all: readonly string[]): void {
  const commands = all.filter((_, n) => n % EVERY === 0);
  for (const command of commands.slice(0, 2_000)) inspectCommand(command);
  const times = commands.map((command) => fastestMs(command, RUNS)).sort((a, b) => a - b);
  const longest = Math.max(...commands.map((command) => command.length));
  const show = (share: number) => quantile(times, share).toFixed(3).padStart(7);
  figure(`${name}, p99`, quantile(times, 0.99), "ms");
  console.log(
    `${name.padEnd(34)} ${`${commands.length}`.padStart(6)} × ≤ ${
      `${longest}`.padStart(5)
    } B  p50 ${show(0.5)}  p99 ${show(0.99)}  max ${show(1)} ms`,
  );
}

/** What one evaluation costs, by length, and on input that is made to cost much. */
export function benchShield(): void {
  console.log(`one evaluation, the fastest of ${RUNS} runs of each command:`);
  report("every core, trick and wrapper", forms());
  report("daily work", [...DANGEROUS, ...HARMLESS]);
  report("scripts of all lengths to 4 KiB", scripts());
  report("scripts of 4 KiB", Array.from({ length: 800 }, (_, i) => script(4 * KIB, i)));
  report("one word, text or argument list", bulky());
  const hostile = Object.values(ADVERSARIES).map((one) => fillUp(one, 4 * KIB));
  report("adversarial input of 4 KiB", Array.from({ length: 20 }, () => hostile).flat());
  scale();
  replay();
}

function scale(): void {
  const sizes = [8, 16, 32, 64].map((n) => n * KIB);
  console.log(
    `\nadversarial input, ms of the fastest of ${SCALE_RUNS} runs at 8, 16, 32, 64 KiB, growth of the last step:`,
  );
  let worst = 0;
  for (const [name, adversary] of Object.entries(ADVERSARIES)) {
    const times = sizes.map((size) => fastestMs(fillUp(adversary, size), SCALE_RUNS));
    worst = Math.max(worst, times.at(-1) ?? 0);
    const growth = (times[3] ?? 0) / (times[2] || 1);
    const shown = times.map((ms) => ms.toFixed(2).padStart(7)).join(" ");
    console.log(`${name.padEnd(34)} ${shown}   × ${growth.toFixed(2)}`);
  }
  figure("adversarial text of 64 KiB, the slowest", worst, "ms");
  console.log(`the slowest at 64 KiB: ${worst.toFixed(2)} ms`);
}

/** Judging 10,000 different commands by two policies, as a replay does. */
function replay(): void {
  const commands = forms().slice(0, 10_000);
  const rules = ["git", "rm", "curl", "kubectl"].map((name) => ({
    id: name,
    match: { commands: [name], paths: ["/srv/**"] },
    verdict: "deny",
  }));
  const policy = Policy.parse({ rules });
  const circumstances = { labels: { env: "prod" }, who: null, atMs: 0 };
  const ms = timeMs(() => {
    for (const command of commands) {
      const examination = examineCommand(command);
      decide(examination, null, circumstances);
      decide(examination, policy, circumstances);
    }
  });
  figure(`${commands.length} commands judged by two policies`, ms, "ms");
  console.log(
    `\n${commands.length} different commands judged by two policies: ${ms.toFixed(0)} ms`,
  );
}
