import { nextTurn } from "../ports/turn.ts";

/** Characters that are parsed at once: below a millisecond of work, also when every name is new to the engine. */
const SLICE_CHARS = 16 * 1024;
/** Members of one object or array; no rule takes as many, and a check of each would hold others up. */
export const MEMBERS_MAX = 20_000;
/** Brackets around one value. */
export const DEPTH_MAX = 500;

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Well-formed JSON that is larger than anything that is used. */
export class TooManyParts extends Error {
  override readonly name = "TooManyParts";
}

/** A bracket that is open. */
interface Frame {
  readonly list: boolean;
  readonly openAt: number;
  /** Where that begins which is not parsed yet. */
  restAt: number;
  /** The last comma of this bracket's own behind that; -1 for none. */
  commaAt: number;
  /** True behind a value that was parsed apart: until the next comma there is only space. */
  ended: boolean;
  /** What was parsed of it; null while it is parsed whole with what is around it. */
  parsed: unknown[] | Record<string, unknown> | null;
  members: number;
}

/**
 * Parses JSON as `JSON.parse` does, but a large text piece by piece: other requests are served in between.
 * @throws {SyntaxError} for what is not JSON, {TooManyParts} for a large text beyond the limits above
 */
export async function parseJson(text: string): Promise<unknown> {
  if (text.length <= SLICE_CHARS) return JSON.parse(text);
  const from = text.search(/[^ \t\r\n]/);
  const first = from < 0 ? "" : text[from];
  return first === "[" || first === "{" ? await new Pieces(text, from).parse() : JSON.parse(text);
}

/** One pass over the brackets; whatever lies between them is checked by the engine's own parser. */
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

  /** The same. A small bracket is left to the one around it. */
  #close(frame: Frame, at: number): boolean {
    if (frame.parsed === null && at - frame.openAt < SLICE_CHARS) {
      this.#frames.pop();
      return false;
    }
    this.#finish(frame, at);
    this.#frames.pop();
    this.#takeIn(frame, at);
    return true;
  }

  /** Parses what is left before the closing bracket. */
  #finish(frame: Frame, at: number): void {
    if (frame.ended) return this.#mustBeBlank(frame.restAt, at);
    const blank = this.text.slice(frame.restAt, at).trim() === "";
    // Nothing at all between the brackets is fine; nothing behind a comma is not.
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

  /** Puts a large value, which has just ended, where it belongs. */
  #takeIn({ openAt, parsed }: Frame, closedAt: number): void {
    const around = this.#frames.at(-1)!;
    if (around.ended) throw this.#broken(openAt);
    if (around.commaAt >= 0) this.#parseRest(around, around.commaAt);
    // Its name, if it has one, with a value that stands in for it.
    const member = this.#native(around, `${this.text.slice(around.restAt, openAt)}""`);
    const [name] = Object.keys(member);
    this.#add(around, around.list ? [parsed] : { [name!]: parsed });
    around.restAt = closedAt + 1;
    around.ended = true;
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

/** As a parser does: `__proto__` is a name like any other. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else {Object.defineProperty(target, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });}
}
