import { parseArgs } from "node:util";
import { V8_FLAGS } from "../../core/cli/program.ts";
import type { Measured } from "./measure.ts";
import { ROWS } from "./rows.ts";
import { mergedWith, tablesOf, withTables } from "./table.ts";

/**
 * How costs grow: `deno task growth [rows] [--quick] [--folder F] [--json FILE] [--write]`. Each size of a row is measured
 * in a process of its own. With `--folder` the stores stay there and are filled once; `--json` keeps the figures, and
 * adds to those that the file has; `--write` puts the tables into docs/growth.md.
 */
const { values, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    folder: { type: "string" },
    json: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
/** A quick run leaves out sizes above this. */
const QUICK_MAX = 100_000;
const PAGE = new URL("../../docs/growth.md", import.meta.url);

const unknown = positionals.filter((row) => !(row in ROWS));
if (unknown.length > 0) {
  console.error(
    `There is no row ${unknown.join(", ")}. There are: ${Object.keys(ROWS).join(", ")}`,
  );
  Deno.exit(2);
}
const { quick, folder: kept } = values;
const folder = kept ?? Deno.makeTempDirSync({ prefix: "relay-growth-" });
Deno.mkdirSync(folder, { recursive: true });
const measured: Measured[] = [];
try {
  for (const row of positionals.length > 0 ? positionals : Object.keys(ROWS)) {
    for (const size of ROWS[row]!.sizes.filter((size) => !quick || size <= QUICK_MAX)) {
      measured.push(await inItsOwnProcess(row, size));
    }
  }
} finally {
  if (kept === undefined) Deno.removeSync(folder, { recursive: true });
}
for (const table of tablesOf(measured).values()) console.log(`\n${table}`);
const all = values.json === undefined ? measured : mergedWith(values.json, measured);
if (values.json !== undefined) {
  const { arch, os } = Deno.build;
  const on = { cores: navigator.hardwareConcurrency, os, arch, deno: Deno.version.deno };
  const text = JSON.stringify({ at: new Date().toISOString(), ...on, measured: all }, null, 2);
  Deno.writeTextFileSync(values.json, `${text}\n`);
}
if (values.write) {
  Deno.writeTextFileSync(PAGE, withTables(Deno.readTextFileSync(PAGE), tablesOf(all)));
}

async function inItsOwnProcess(row: string, size: number): Promise<Measured> {
  const script = new URL("measure.ts", import.meta.url).pathname;
  const flags = ["run", "-A", "--no-check", V8_FLAGS];
  const args = [...flags, script, row, `${size}`, folder, quick ? "quick" : "whole"];
  const child = new Deno.Command(Deno.execPath(), { args, stderr: "inherit" });
  const { success, stdout } = await child.output();
  if (!success) throw new Error(`${row} ${size} could not be measured`);
  return JSON.parse(new TextDecoder().decode(stdout));
}
