import { nextTurn } from "../../core/ports/ports.ts";

/** Characters parsed at once: under a millisecond, even when the engine knows none of the names. */
const SLICE_CHARS = 16 * 1024;
/** Members of one object or array. No rule takes that many, and checking each would delay other requests. */
export const MEMBERS_MAX = 20_000;
/** Brackets open at once. */
export const DEPTH_MAX = 500;

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Raised for well-formed JSON beyond the limits above. */
export class TooManyParts extends Error {
  override readonly name = "TooManyParts";
}

/** An open bracket. */
interface Frame {
  readonly list: boolean;
  readonly openAt: number;
  /** The start of the unparsed rest. */
  restAt: number;
  /** This bracket's own last comma in the rest; -1 for none. */
  commaAt: number;
  /** True after a value that was parsed separately: only space may follow until the next comma. */
  ended: boolean;
  /** The parsed part; null while the bracket is left to the enclosing one. */
  parsed: unknown[] | Record<string, unknown> | null;
  members: number;
}

/**
 * Parses JSON like `JSON.parse`, but a large text piece by piece, so that other requests are served in between.
 * @throws {SyntaxError} for invalid JSON, {TooManyParts} for a large text beyond the limits above
 */
export async function parseJson(text: string): Promise<unknown> {
  if (text.length <= SLICE_CHARS) return JSON.parse(text);
  const from = text.search(/[^ \t\r\n]/);
  const first = from < 0 ? "" : text[from];
  return first === "[" || first === "{" ? await new Pieces(text, from).parse() : JSON.parse(text);
}

/** One pass over the brackets; the engine's parser checks everything between them. */
class Pieces {
  readonly #frames: Frame[] = [];

  constructor(private readonly text: string, private readonly from: number) {}

  async parse(): Promise<unknown> {
    const { text } = this;
    for (let at = this.from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = this.#endOfString(at);
      else if (code === OPEN_LIST || code === OPEN_OBJECT) this.#open(at, code === OPEN_LIST);
      else if (code === COMMA) {
        if (this.#comma(at)) await nextTurn();
      } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
        const frame = this.#frames.at(-1)!;
        if (frame.list !== (code === CLOSE_LIST)) throw this.#broken(at);
        if (this.#frames.length === 1) {
          if (text.slice(at + 1).search(/[^ \t\r\n]/) >= 0) throw this.#broken(at + 1);
          this.#finish(frame, at);
          return frame.parsed;
        }
        if (this.#close(frame, at)) await nextTurn();
      }
    }
    throw this.#broken(text.length);
  }

  #endOfString(from: number): number {
    for (let at = from + 1; at < this.text.length; at++) {
      const code = this.text.charCodeAt(at);
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) return at;
    }
    throw this.#broken(this.text.length);
  }

  #open(at: number, list: boolean): void {
    if (this.#frames.length === DEPTH_MAX) {
      throw new TooManyParts(`more than ${DEPTH_MAX} brackets are open at once`);
    }
    this.#frames.push({
      list,
      openAt: at,
      restAt: at + 1,
      commaAt: -1,
      ended: false,
      parsed: null,
      members: 0,
    });
  }

  /** True when a piece was parsed. */
  #comma(at: number): boolean {
    const frame = this.#frames.at(-1)!;
    if (frame.ended) {
      this.#mustBeBlank(frame.restAt, at);
      frame.ended = false;
      frame.restAt = at + 1;
      return false;
    }
    frame.commaAt = at;
    if (at - frame.restAt < SLICE_CHARS) return false;
    this.#parseRest(frame, at);
    return true;
  }

  /** True when a piece was parsed. A small bracket is left to the enclosing one. */
  #close(frame: Frame, at: number): boolean {
    if (frame.parsed === null && at - frame.openAt < SLICE_CHARS) {
      this.#frames.pop();
      return false;
    }
    this.#finish(frame, at);
    this.#frames.pop();
    this.#addTo(frame, at);
    return true;
  }

  /** Parses the rest before the closing bracket. */
  #finish(frame: Frame, at: number): void {
    if (frame.ended) return this.#mustBeBlank(frame.restAt, at);
    const blank = this.text.slice(frame.restAt, at).trim() === "";
    // Empty brackets are valid; a trailing comma is not.
    if (blank && frame.parsed === null) frame.parsed = frame.list ? [] : {};
    else this.#parseRest(frame, at);
  }

  /** Parses whole members, up to a comma or a closing bracket. */
  #parseRest(frame: Frame, to: number): void {
    const piece = this.text.slice(frame.restAt, to);
    if (piece.trim() === "") throw this.#broken(to);
    this.#add(frame, this.#native(frame, piece));
    frame.restAt = to + 1;
    frame.commaAt = -1;
  }

  /** Adds a large value that has just ended to the enclosing bracket. */
  #addTo({ openAt, parsed }: Frame, closedAt: number): void {
    const outer = this.#frames.at(-1)!;
    if (outer.ended) throw this.#broken(openAt);
    if (outer.commaAt >= 0) this.#parseRest(outer, outer.commaAt);
    // Its name, if any, with a placeholder for the value.
    const member = this.#native(outer, `${this.text.slice(outer.restAt, openAt)}""`);
    const [name] = Object.keys(member);
    this.#add(outer, outer.list ? [parsed] : { [name!]: parsed });
    outer.restAt = closedAt + 1;
    outer.ended = true;
  }

  #native({ list }: Frame, members: string): unknown[] | Record<string, unknown> {
    return JSON.parse(list ? `[${members}]` : `{${members}}`);
  }

  #add(frame: Frame, piece: unknown[] | Record<string, unknown>): void {
    const names = Object.keys(piece);
    frame.members += names.length;
    if (frame.members > MEMBERS_MAX) {
      throw new TooManyParts(`one object or array has more than ${MEMBERS_MAX} members`);
    }
    if (frame.parsed === null) frame.parsed = piece;
    else if (Array.isArray(frame.parsed)) frame.parsed.push(...piece as unknown[]);
    else {
      for (const name of names) {
        define(frame.parsed, name, (piece as Record<string, unknown>)[name]);
      }
    }
  }

  #mustBeBlank(from: number, to: number): void {
    if (this.text.slice(from, to).search(/[^ \t\r\n]/) >= 0) throw this.#broken(from);
  }

  #broken(at: number): SyntaxError {
    return new SyntaxError(
      `Unexpected ${at < this.text.length ? "text" : "end"} at position ${at}`,
    );
  }
}

/** Sets a member as a JSON parser does: `__proto__` is an ordinary name. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else {Object.defineProperty(target, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });}
}
