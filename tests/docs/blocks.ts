import { readdirSync, readFileSync } from "node:fs";

const DOCS = new URL("../../docs/", import.meta.url);

/** A fenced block of a page. */
export interface Block {
  /** The file of the page in docs/. */
  readonly page: string;
  readonly line: number;
  /** What stands behind the fence; empty for commands and text without a language. */
  readonly language: string;
  readonly text: string;
  /** Written by `deno task docs` from a table, and compared with it by a test. */
  readonly generated: boolean;
}

/** The text of every page of docs/. */
export const PAGES: ReadonlyMap<string, string> = new Map(
  readdirSync(DOCS).filter((name) => name.endsWith(".md")).sort()
    .map((name) => [name, readFileSync(new URL(name, DOCS), "utf8")]),
);

/** Every fenced block of docs/, by pages and lines. */
export const BLOCKS: readonly Block[] = [...PAGES].flatMap(([page, text]) => blocksOf(page, text));

function blocksOf(page: string, text: string): Block[] {
  const blocks: Block[] = [];
  let open: { indent: number; language: string; line: number; lines: string[] } | null = null;
  let generated = text.includes("`deno task docs` writes it from the tables");
  for (const [at, line] of text.split("\n").entries()) {
    if (/^<!-- from the /.test(line)) generated = true;
    if (/^<!-- end of the /.test(line)) generated = false;
    const [, indent, language] = /^( *)```(\w*)$/.exec(line) ?? [];
    if (open === null && indent !== undefined) {
      open = { indent: indent.length, language: language!, line: at + 1, lines: [] };
    } else if (open !== null && indent?.length === open.indent) {
      const { language, line, lines } = open;
      blocks.push({ page, line, language, text: `${lines.join("\n")}\n`, generated });
      open = null;
    } else open?.lines.push(line.slice(open.indent));
  }
  if (open !== null) throw new Error(`${page}:${open.line}: the block has no end`);
  return blocks;
}

/** The one block of a page that contains a text and is not generated. @throws {Error} when there is none, or another */
export function blockWith(page: string, part: string): Block {
  const found = BLOCKS.filter((block) =>
    block.page === page && !block.generated && block.text.includes(part)
  );
  if (found.length !== 1) {
    throw new Error(`docs/${page} has ${found.length} blocks with ${JSON.stringify(part)}`);
  }
  return found[0]!;
}
