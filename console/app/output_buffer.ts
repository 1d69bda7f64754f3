/** A stream of a command's output. */
export type OutputSource = "stdout" | "stderr";

/** A run of lines of one stream. It changes only while it is the last one. */
export interface OutputBlock {
  readonly id: number;
  readonly source: OutputSource;
  /** The lines, without the break after the last one. */
  text: string;
  lines: number;
}

export const LINES_MAX = 5_000;
export const CHARS_MAX = 1024 * 1024;
/** Larger blocks would be drawn anew as a whole for each line. */
const BLOCK_LINES_MAX = 100;
const BLOCK_CHARS_MAX = 16 * 1024;
/** A longer line is broken, so that its beginning can be forgotten. */
const LINE_CHARS_MAX = 64 * 1024;
/** A sequence that has not ended after so many characters is no sequence. */
const SEQUENCE_CHARS_MAX = 1_024;

/* Escape sequences of terminals: CSI, strings such as OSC on one line, and those of two characters. */
const SEQUENCE =
  // deno-lint-ignore no-control-regex -- the controls are what is looked for
  /(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,1024}(?:\x07|\x9c|\x1b\\)|\x1b[ -/]{0,8}[0-OQ-WYZ\\`-~]/g;
/** The beginning of a sequence at the end of a text. */
const UNFINISHED =
  // deno-lint-ignore no-control-regex -- the controls are what is looked for
  /(?:\x1b|(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*\x1b?|\x1b[ -/]+)$/;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Lines that show nothing but text: the same rule as the command line's. */
const harmless = (text: string): string =>
  text.replace(UNSEEN, (found) => found === "\n" || found === "\t" ? found : "\ufffd");

/**
 * The last lines of a command's output, in the order in which they came. Escape sequences are removed, and other
 * control and invisible characters become U+FFFD. A carriage return ends a line, so it never hides what came before.
 */
export class OutputBuffer {
  readonly blocks: OutputBlock[] = [];
  /** Lines that are no longer kept. */
  dropped = 0;
  #lines = 0;
  #chars = 0;
  #nextId = 0;
  /** True when the last line has ended. */
  #isAtStart = true;
  /** What may be the beginning of a sequence or of a line break, for each stream. */
  readonly #held: Record<OutputSource, string> = { stdout: "", stderr: "" };

  /** Adds a chunk of one stream. */
  add(source: OutputSource, chunk: string): void {
    const text = this.#held[source] + chunk;
    const [begun] = UNFINISHED.exec(text.slice(-SEQUENCE_CHARS_MAX)) ??
      (text.endsWith("\r") ? ["\r"] : [""]);
    this.#held[source] = begun;
    this.#append(source, text.slice(0, text.length - begun.length));
  }

  /** Adds what was held back, since nothing follows. */
  end(): void {
    for (const source of ["stdout", "stderr"] as const) {
      const held = this.#held[source];
      this.#held[source] = "";
      this.#append(source, held);
    }
  }

  #append(source: OutputSource, raw: string): void {
    const text = harmless(raw.replaceAll(SEQUENCE, "").replaceAll(/\r\n?/g, "\n"));
    if (text === "") return;
    const lines = text.split("\n");
    const endsLine = lines.at(-1) === "";
    if (endsLine) lines.pop();
    for (const [n, line] of lines.entries()) this.#line(source, line, n === 0);
    this.#isAtStart = endsLine;
    this.#drop();
  }

  /** Adds a line, or the rest of the last one. */
  #line(source: OutputSource, line: string, isFirst: boolean): void {
    const last = this.blocks.at(-1);
    const continues = isFirst && !this.#isAtStart && last?.source === source &&
      last.text.length < LINE_CHARS_MAX;
    this.#chars += line.length;
    if (continues) {
      last.text += line;
      return;
    }
    this.#chars++;
    this.#lines++;
    const fits = last?.source === source && last.lines < BLOCK_LINES_MAX &&
      last.text.length + line.length < BLOCK_CHARS_MAX;
    if (!fits) {
      this.blocks.push({ id: this.#nextId++, source, text: line, lines: 1 });
      return;
    }
    last.text += `\n${line}`;
    last.lines++;
  }

  /** Forgets the first blocks beyond the limits. The last one stays, whatever its size. */
  #drop(): void {
    while (this.blocks.length > 1 && (this.#lines > LINES_MAX || this.#chars > CHARS_MAX)) {
      const { lines, text } = this.blocks.shift()!;
      this.#lines -= lines;
      this.#chars -= text.length + 1;
      this.dropped += lines;
    }
  }
}
