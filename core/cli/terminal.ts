type Paint = (text: string) => string;

/** Prints the steps of a demo. Colours only on a terminal, and not when NO_COLOR is set. */
export interface Terminal {
  readonly dim: Paint;
  readonly bold: Paint;
  /** Prints the title of the next numbered step. */
  step(title: string): void;
  /** Prints details of the step. */
  note(text: string): void;
  /** Prints a check that passed. */
  good(text: string): void;
  bad(text: string): void;
  say(text: string): void;
}

/** The terminal of standard output. */
export function openTerminal(): Terminal {
  const coloured = Deno.stdout.isTerminal() && !Deno.noColor;
  const paint = (code: number): Paint => (text) => coloured ? `\x1b[${code}m${text}\x1b[0m` : text;
  const [bold, dim, red, green, cyan] = [paint(1), paint(2), paint(31), paint(32), paint(36)];
  const indented = (text: string, mark = " ") =>
    console.log(
      text.split("\n").map((line, at) => `   ${at === 0 ? mark : " "} ${line}`).join("\n"),
    );
  let steps = 0;
  return {
    dim,
    bold,
    step: (title) => console.log(`\n${cyan(`${++steps}`.padStart(2))} ${bold(title)}`),
    note: (text) => indented(text),
    good: (text) => indented(text, green("✓")),
    bad: (text) => indented(text, red("✗")),
    say: (text) => console.log(text),
  };
}

/** Rows under a heading, each column as wide as its widest cell. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at]!)).join("  ").trimEnd());
}
