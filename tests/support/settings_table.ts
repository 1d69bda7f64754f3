import { SETTINGS } from "../../core/cli/environment.ts";

/** Puts the table of the settings into docs/configuration.md, in place of the one that is there. */
export function withSettingsTable(page: string): string {
  const code = (text: string) => text.replaceAll(/\bRELAY_\w+|:memory:|\.relay\/\S+\.kv/g, "`$&`");
  const rows = Object.entries(SETTINGS).map((
    [name, { meaning, default: value = "" }],
  ) => [`\`${name}\``, code(value), code(meaning)]);
  return page.replace(
    /^\| variable .*?\n\n/ms,
    `${table(["variable", "default", "meaning"], rows)}\n`,
  );
}

/** A Markdown table as `deno fmt` aligns it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => row[at]!.length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |\n`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("");
}
