import { parse } from "unbash";

/** The simple commands of a shell text as words without quotes, also those in `$(…)`. Placeholders such as <code> are words. */
export function commandsOf(text: string): string[][] {
  const script = parse(text.replaceAll(/<([^<>\s][^<>\n]*)>/g, "PLACEHOLDER"));
  if (script.errors?.length) throw new Error(`no shell command: ${text}`);
  const commands: string[][] = [];
  JSON.stringify(script, (_name, node) => {
    if (node?.type === "Command" && node.name !== undefined) {
      const words: { type: string; value: string }[] = node.suffix;
      const rest = words.filter(({ type }) => type === "Word").map(({ value }) => value);
      commands.push([node.name.value, ...rest]);
    }
    return node;
  });
  return commands;
}
