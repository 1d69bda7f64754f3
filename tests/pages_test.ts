import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { existsSync } from "node:fs";
import { routes } from "../routes/index.ts";

const ROOT = new URL("../", import.meta.url);
/** Folders of the root that hold pages, and those of their folders. */
const FOLDERS = ["core", "deploy", "docs", "kv", "mcp", "routes", "tests", ".github"];
const NAMES = [...pagesIn("", false), ...FOLDERS.flatMap((folder) => pagesIn(`${folder}/`, true))];
const PAGES = new Map(NAMES.map((name) => [name, Deno.readTextFileSync(new URL(name, ROOT))]));

function pagesIn(folder: string, deep: boolean): string[] {
  return [...Deno.readDirSync(new URL(`./${folder}`, ROOT))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return deep ? pagesIn(`${folder}${name}/`, true) : [];
    return name.endsWith(".md") ? [`${folder}${name}`] : [];
  });
}

Deno.test("pages: every Markdown file at the root, in docs/ and beside the code is read", () => {
  const expected = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
  for (const name of [...expected, "docs/README.md", "core/shield/README.md"]) {
    ok(PAGES.has(name), name);
  }
});

Deno.test("pages: every address below /api in the docs exists", () => {
  const known = routes.map(({ path }) => path.split("/"));
  const isThere = (parts: readonly string[]) =>
    known.some((path) =>
      path.length === parts.length &&
      path.every((part, at) => part === parts[at] || part.startsWith("{"))
    );
  const named = [...PAGES].flatMap(([name, text]) =>
    // `${url}` in the example of an integration is another service.
    [...text.matchAll(/(?<!\$\{url\})\/api(?:\/(?:<[^>]+>|[\w{}$-]+))+/g)].map(([path]) =>
      [name, path] as const
    )
  );
  ok(named.length > 50);
  deq(named.filter(([, path]) => !isThere(path.split("/"))), []);
});

Deno.test("pages: every link between pages leads to a page and a heading", () => {
  const prose = (text: string) => text.replaceAll(/^```.*?^```/gms, "");
  const anchors = new Map([...PAGES].map(([name, text]) => {
    const headings = [...prose(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!);
    return [
      name,
      headings.map((each) => each.toLowerCase().replaceAll(/[^\w -]/g, "").replaceAll(" ", "-")),
    ];
  }));
  const dead = [...PAGES].flatMap(([name, text]) =>
    [...prose(text).matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)].filter(
      ([, file, anchor]) => {
        const target = file === ""
          ? name
          : new URL(file!, new URL(name, ROOT)).href.slice(ROOT.href.length);
        return !(anchor === "" ? PAGES.has(target) : anchors.get(target)?.includes(anchor!));
      },
    ).map(([link]) => `${name}: ${link}`)
  );
  deq(dead, []);
});

Deno.test("pages: docs/README.md lists every page of docs", () => {
  const index = PAGES.get("docs/README.md")!;
  const others = NAMES.filter((name) => name.startsWith("docs/") && name !== "docs/README.md");
  deq(others.filter((name) => !index.includes(`](${name.slice("docs/".length)})`)), []);
});

Deno.test("pages: every source file and folder that a page names exists", () => {
  const named = [...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(/`((?:core|docs|kv|mcp|routes|tests)\/[\w./-]*)`/g)]
      .map(([, path]) => [page, path!] as const)
  );
  ok(named.length > 100);
  deq(named.filter(([, path]) => !existsSync(new URL(path, ROOT))), []);
});
