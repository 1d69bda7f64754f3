import { DANGEROUS, HARMLESS } from "../../shield/field.ts";

/**
 * Judges lines of daily work with the shield of the repository at the first argument for so many seconds, each time
 * it gets a line, and prints how many it judged in a second.
 */
const [root, seconds] = Deno.args as [string, string];
const { inspectCommand } = await import(`file://${root}core/shield/shield.ts`);
const commands = [...DANGEROUS, ...HARMLESS];

console.log("{}");
for await (const _ of Deno.stdin.readable) {
  const startedMs = performance.now();
  let judged = 0;
  while (performance.now() - startedMs < Number(seconds) * 1000) {
    for (const command of commands) inspectCommand(command);
    judged += commands.length;
  }
  console.log(JSON.stringify(judged / (performance.now() - startedMs) * 1000));
}
