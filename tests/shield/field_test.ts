import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";
import { Policy } from "../../core/shield/policy/policy.ts";
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

Deno.test("inspectCommand: a change of production needs an approval, unless its pack is disabled", () => {
  const verdicts = judged(PRODUCTION).filter(({ verdict }) => verdict !== "approve");
  deq(verdicts.map(({ command, verdict }) => `${command} (${verdict})`), []);
  const policy = Policy.parse({ disabled_packs: ["production"] });
  const stopped = PRODUCTION.filter((command) =>
    inspectCommand(command, { policy }).verdict !== "allow"
  );
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
