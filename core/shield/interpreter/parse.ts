import { parse, type ParsedScript } from "unbash";

/** Parses shell text, from a copy that lies in one piece. */
export function parseShell(text: string): ParsedScript {
  return parse(copyFlat(text));
}

/**
 * A text that was cut out of another, or glued of two, is of another kind in memory than one that lies in one piece,
 * and code that meets many kinds looks up how to read them at every character. To join two parts copies them.
 */
function copyFlat(text: string): string {
  return text.length < 2 ? text : [text.slice(0, 1), text.slice(1)].join("");
}
