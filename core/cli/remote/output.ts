import { printableLine } from "../printable_line.ts";
import { UsageError } from "../arguments.ts";
import { table } from "../terminal.ts";
import type { Host } from "./host.ts";

const FORMATS = ["table", "json", "yaml"] as const;
type Format = (typeof FORMATS)[number];

/** Prints what a command found: for people, or for programs in a form that stays the same. */
export interface Output {
  readonly format: Format;
  /** Prints a list. For programs that is the answer as the API gives it; `quiet` prints the ids. */
  list(answer: unknown, heading: readonly string[], rows: readonly Row[]): Promise<void>;
  /** Prints one thing, in the same three ways. */
  item(answer: unknown, id: string, fields: readonly Field[]): Promise<void>;
  /** Prints one of many things as they come: a line of JSON, a document of YAML, a line of text, or the id. */
  entry(answer: unknown, id: string, text: string): Promise<void>;
  /** Tells a person something beside the result, on the standard error, without control characters. */
  note(text: string): Promise<void>;
}

/** A row of a table; the first cell is the id. */
type Row = readonly [id: string, ...cells: Cell[]];
type Cell = string | number | boolean | null | undefined;
type Field = readonly [label: string, value: Cell];

interface Choices {
  readonly output: string | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly noColor: boolean;
}

/** @throws {UsageError} for an unknown format */
export function openOutput({ output, json, quiet, noColor }: Choices, host: Host): Output {
  const format = json ? "json" : FORMATS.find((name) => name === (output ?? "table"));
  if (format === undefined) {
    throw new UsageError(
      `The format ${JSON.stringify(output)} is not one of ${FORMATS.join(", ")}.`,
    );
  }
  const coloured = host.interactive && !noColor && !host.env["NO_COLOR"];
  const bold = (text: string) => coloured ? `\x1b[1m${text}\x1b[0m` : text;
  const print = (lines: readonly string[]) => host.write(lines.map((line) => `${line}\n`).join(""));
  const serialized = async (answer: unknown) =>
    format === "json"
      ? JSON.stringify(answer, null, 2)
      : (await import("../yaml.ts")).stringify(answer).trimEnd();
  return {
    format,
    async list(answer, heading, rows) {
      if (quiet) return await print(rows.map(([id]) => printableLine(id)));
      if (format !== "table") return await print([await serialized(answer)]);
      const cells = [heading, ...rows.map((row) => row.map(textOf))];
      const [first, ...others] = table(cells);
      await print([bold(first!), ...others]);
    },
    async item(answer, id, fields) {
      if (quiet) return await print([printableLine(id)]);
      if (format !== "table") return await print([await serialized(answer)]);
      const shown = fields.filter(([, value]) => value !== undefined);
      const width = Math.max(...shown.map(([label]) => label.length));
      await print(shown.map(([label, value]) => `${bold(label.padEnd(width))}  ${textOf(value)}`));
    },
    async entry(answer, id, text) {
      if (quiet || format === "table") return await print([printableLine(quiet ? id : text)]);
      if (format === "json") return await print([JSON.stringify(answer)]);
      await print(["---", await serialized(answer)]);
    },
    async note(text) {
      if (quiet) return;
      await host.writeError(text.split("\n").map((line) => `${printableLine(line)}\n`).join(""));
    },
  };
}

/** A value of a cell. Names come from other people and machines, so control characters are shown, not obeyed. */
const textOf = (cell: Cell): string =>
  cell === null || cell === undefined || cell === "" ? "-" : printableLine(`${cell}`);
