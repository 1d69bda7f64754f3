import { isThere } from "../../kv/maintenance/disk.ts";
import type { Measured } from "./measure.ts";

/** Operations of which the table also shows memory. */
const WITH_MEMORY = /^(start|audit query.*|backup)$/;
/** What V8 leaves uncollected; less says nothing. */
const MIB_MIN = 32;

/** What was measured, as tables by row. */
export function tablesOf(all: readonly Measured[]): Map<string, string> {
  return new Map(
    [...Map.groupBy(all, ({ row }) => row)].map(([row, sizes]) => [row, tableOf(sizes)]),
  );
}

function tableOf(sizes: readonly Measured[]): string {
  const { row, costs } = sizes.at(-1)!;
  const shown = [
    [row, ...sizes.map(({ size }) => size.toLocaleString("en-US"))],
    ...Object.keys(costs).map((name) => [name, ...sizes.map((one) => costOf(one, name))]),
    ["size of the store", ...sizes.map(({ storeMib }) => `${rounded(storeMib)} MiB`)],
  ];
  const widths = shown[0]!.map((_, at) => Math.max(...shown.map((cells) => cells[at]!.length)));
  const lines = shown.map((cells) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}

/** Processor time, because the time that passes also shows who else uses the machine. */
function costOf({ costs }: Measured, name: string): string {
  const { cpuMs, mib } = costs[name]!;
  const time = cpuMs >= 1_000 ? `${rounded(cpuMs / 1_000)} s` : `${rounded(cpuMs)} ms`;
  return WITH_MEMORY.test(name) && mib >= MIB_MIN ? `${time}, ${rounded(mib)} MiB` : time;
}

/** Two digits at least. */
const rounded = (value: number): string =>
  value >= 10 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(2);

/** Puts tables in place of those that follow the headings of their rows. */
export function withTables(page: string, tables: ReadonlyMap<string, string>): string {
  return [...tables].reduce((text, [row, table]) => {
    const heading = `## ${row[0]!.toUpperCase()}${row.slice(1)}\n`;
    const at = text.indexOf(heading);
    if (at === -1) throw new Error(`the page has no heading "${heading.trim()}"`);
    const [before, after] = [text.slice(0, at + heading.length), text.slice(at + heading.length)];
    return before + after.replace(/(?:^\|.*\n)+/m, `${table}\n`);
  }, page);
}

/** Adds figures to those of a file, in place of older ones of the same row and size. */
export function mergedWith(path: string, measured: readonly Measured[]): Measured[] {
  const known: Measured[] = isThere(path) ? JSON.parse(Deno.readTextFileSync(path)).measured : [];
  const isNew = (one: Measured) =>
    measured.every(({ row, size }) => row !== one.row || size !== one.size);
  return [...known.filter(isNew), ...measured].sort((a, b) =>
    a.row === b.row ? a.size - b.size : a.row < b.row ? -1 : 1
  );
}
