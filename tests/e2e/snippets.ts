import { readdirSync, readFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);

/** A fenced block of a page. */
export interface Snippet {
  readonly page: string;
  /** `sh`, `json` and so on; empty for wire formats and pictures of text. */
  readonly language: string;
  readonly text: string;
}

/** Reports of faults in other programs. */
const UPSTREAM = "upstream.md";

/** Every snippet of the pages for users. The commands of README.md have a test of their own. */
export const SNIPPETS: readonly Snippet[] = [
  "deploy/README.md",
  ...readdirSync(new URL("docs/", ROOT)).filter((name) => name.endsWith(".md") && name !== UPSTREAM)
    .sort()
    .map((name) => `docs/${name}`),
].flatMap((page) =>
  [...readFileSync(new URL(page, ROOT), "utf8").matchAll(/^ *```(\w*)\n(.*?)^ *```$/gms)]
    .map(([, language = "", text = ""]) => ({ page, language, text }))
);

/** A command of a shell, with the output of none. */
export type Words = readonly string[];

/**
 * The simple commands of a snippet, also those in `$(…)`. Variables and placeholders such as `<code>` get the value of
 * their name; redirections are left out.
 */
export function commandsOf(text: string, valueOf: (name: string) => string): Words[] {
  const commands: string[][] = [];
  let words: string[] = [], word = "", isWord = false, isTarget = false;
  const endWord = () => {
    if (isWord && !isTarget) words.push(word);
    if (isWord) isTarget = false;
    word = "";
    isWord = false;
  };
  const endCommand = () => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  const add = (part: string) => {
    word += part;
    isWord = true;
  };
  /** What stands at a dollar sign; returns its length. */
  const expand = (at: number): number => {
    const name = /^\$\{?(\w+)\}?/.exec(text.slice(at));
    if (name !== null) return add(valueOf(name[1]!)), name[0].length;
    if (text[at + 1] !== "(") return add("$"), 1;
    const end = endOfSubstitution(text, at + 2);
    commands.push(...commandsOf(text.slice(at + 2, end), valueOf).map((each) => [...each]));
    add("substituted");
    return end + 1 - at;
  };
  for (let at = 0; at < text.length;) {
    const c = text[at]!;
    const placeholder = /^<([\w -]+)>/.exec(text.slice(at));
    if (c === "\\") {
      if (text[at + 1] !== "\n") add(text[at + 1]!);
      at += 2;
    } else if (c === "'") {
      const end = text.indexOf("'", at + 1);
      add(text.slice(at + 1, end));
      at = end + 1;
    } else if (c === '"') {
      for (at++; text[at] !== '"';) {
        if (text[at] === "$") at += expand(at);
        else if (text[at] === "\\") add(text[at + 1]!), at += 2;
        else add(text[at]!), at++;
      }
      at++;
    } else if (c === "$") at += expand(at);
    else if (placeholder !== null) {
      add(valueOf(placeholder[0]));
      at += placeholder[0].length;
    } else if (c === "#" && !isWord) at = (text + "\n").indexOf("\n", at);
    else if (c === "<" || c === ">") {
      if (/^\d$/.test(word)) word = "", isWord = false;
      endWord();
      isTarget = true;
      at++;
    } else if (/[\n;&|]/.test(c)) {
      endCommand();
      at++;
    } else if (/\s/.test(c)) {
      endWord();
      at++;
    } else {
      add(c);
      at++;
    }
  }
  endCommand();
  return commands;
}

function endOfSubstitution(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")" && --depth === 0) return at;
  }
  throw new Error(`no end of $( in ${text}`);
}

/** An HTTP request that `curl` would send. */
export interface Curl {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** Reads the arguments of `curl`, of which the docs use these. @throws {Error} for others */
export function readCurl(words: Words): Curl {
  const headers = new Headers();
  let method: string | undefined, url = "", body: string | undefined;
  for (let at = 1; at < words.length; at++) {
    const argument = words[at]!;
    const value = () => words[++at] ?? "";
    if (argument === "-X") method = value();
    else if (argument === "-H") {
      const [name, ...rest] = value().split(":");
      headers.set(name!, rest.join(":").trim());
    } else if (argument === "-d") body = value();
    else if (argument === "--json") {
      body = value();
      headers.set("content-type", "application/json");
    } else if (argument === "-o") value();
    else if (!/^-[sfNSLO]+$/.test(argument)) {
      if (argument.startsWith("-")) throw new Error(`the docs use curl ${argument}`);
      url = argument.includes("://") ? argument : `http://${argument}`;
    }
  }
  return { method: method ?? (body === undefined ? "GET" : "POST"), url, headers, body };
}
