/** Whether a request asks a GraphQL server for a mutation: as JSON, as a form, or as the document itself. */
export function mutates(body: string): boolean {
  const documents = documentsOf(body.trim());
  return documents === null ? /\bmutation\b/.test(body) : documents.some(definesMutation);
}

/** The documents that a body holds; null if it cannot be read. */
function documentsOf(body: string): readonly string[] | null {
  const form = FORM.exec(body);
  if (form !== null) return [body.slice(form.index + form[0].length)];
  if (body.startsWith("{") || body.startsWith("[")) {
    try {
      const calls: unknown = JSON.parse(body);
      return (Array.isArray(calls) ? calls : [calls]).map((call) => String(call?.query ?? ""));
    } catch {
      return body.includes('"query"') ? null : [body];
    }
  }
  return DOCUMENT.test(body) ? [body] : null;
}

const FORM = /(?:^|&)query=/;
const DOCUMENT = /^(?:query|mutation|subscription|fragment|#)/;

/** Whether the word stands outside of brackets, texts and comments. */
function definesMutation(document: string): boolean {
  let depth = 0;
  for (let at = 0; at < document.length; at++) {
    const char = document[at]!;
    if (char === '"') at = endOfText(document, at);
    else if (char === "#") at = indexOr(document, "\n", at);
    else if (OPENS.has(char)) depth++;
    else if (CLOSES.has(char)) depth--;
    else if (depth === 0 && isWord(document, "mutation", at)) return true;
  }
  return false;
}

const OPENS = new Set("{([");
const CLOSES = new Set("})]");

const isWord = (document: string, word: string, at: number): boolean =>
  document.startsWith(word, at) && !NAME.test(document[at - 1] ?? "") &&
  !NAME.test(document[at + word.length] ?? "");

const NAME = /[\w$@=]/;

/** The place of the quote that ends a text. */
function endOfText(document: string, start: number): number {
  if (document.startsWith('"""', start)) return indexOr(document, '"""', start + 3) + 2;
  let at = start + 1;
  while (at < document.length && document[at] !== '"') at += document[at] === "\\" ? 2 : 1;
  return at;
}

function indexOr(document: string, what: string, from: number): number {
  const at = document.indexOf(what, from);
  return at < 0 ? document.length : at;
}
