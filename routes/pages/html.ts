import { createHash } from "node:crypto";
/** Markup, the only text that other markup includes without escaping. */
export interface Html {
  readonly markup: string;
}

export type Part = Html | string | number | false | null | undefined | readonly Part[];

/**
 * Markup with its values escaped, for text and for quoted attributes; lists are joined. The name is not
 * `html`, because the formatter reflows templates of that name and would change the white space in `pre`.
 */
export function markup(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  const parts = strings.map((text, i) => i === 0 ? text : textOf(values[i - 1]) + text);
  return { markup: parts.join("") };
}

/** Markup that is part of this program. */
export const trusted = (text: string): Html => ({ markup: text });

/** Paragraphs of prose, with `code` between backticks. */
export function prose(text: string): Html {
  return markup`${text.split("\n\n").map((paragraph) => markup`<p>${inline(paragraph)}</p>`)}`;
}

/** One run of prose, with `code` between backticks. */
export function inline(text: string): Part {
  return text.split("`").map((part, i) => i % 2 === 1 ? markup`<code>${part}</code>` : part);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function textOf(part: Part): string {
  if (part === null || part === undefined || part === false) return "";
  if (typeof part === "object") return "markup" in part ? part.markup : part.map(textOf).join("");
  return `${part}`.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

const sha256 = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Allows only a page's own style and script, and requests only to the server that it came from. */
export const pagePolicy = (style: string, script: string): string =>
  [
    "default-src 'none'",
    `style-src ${sha256(style)}`,
    `script-src ${sha256(script)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
