import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";
import { Policy } from "../../core/shield/shield.ts";
import { DANGEROUS, HARMLESS, PRODUCTION } from "./field.ts";
import { FORMS } from "./forms.ts";
import { OPTION_FORMS } from "./option_forms.ts";

const judged = (commands: readonly string[]) =>
  commands.map((command) => ({ command, ...inspectCommand(command) }));

Deno.test("inspectCommand: harmful commands are stopped in every area of daily work", () => {
  ok(DANGEROUS.length > 300);
  console.log(`${DANGEROUS.length} dangerous commands`);
  const missed = judged(DANGEROUS).filter(({ verdict }) => verdict === "allow");
  deq(missed.map(({ command }) => command), []);
});

Deno.test("inspectCommand: daily work needs no approval", () => {
  ok(HARMLESS.length > 300);
  console.log(`${HARMLESS.length} harmless commands`);
  const stopped = judged(HARMLESS).filter(({ verdict }) => verdict !== "allow");
  deq(stopped.map(({ command, rule_ids }) => `${command} (${rule_ids.join(", ")})`), []);
});

Deno.test("inspectCommand: only the pack about production stops changes of a running system", () => {
  ok(PRODUCTION.length > 100);
  const policy = Policy.parse({ rules: [], disabled_packs: ["production"] });
  deq(judged(PRODUCTION).filter(({ verdict }) => verdict !== "approve"), []);
  const stopped = PRODUCTION.filter((line) => inspectCommand(line, { policy }).verdict !== "allow");
  deq(stopped, []);
});

Deno.test("inspectCommand: a dangerous command is found in every way to run one", () => {
  const cores = ["rm -rf /", "git reset --hard", "mkfs.ext4 /dev/sda", "cat /etc/shadow"];
  const forms = [...FORMS, ...OPTION_FORMS];
  const missed = forms.flatMap((wrap) => cores.map(wrap))
    .filter((command) => inspectCommand(command).verdict === "allow");
  console.log(`${forms.length} ways, ${cores.length} commands in each`);
  deq(missed, []);
});
