import { deepStrictEqual as deq } from "node:assert/strict";

interface Source {
  readonly path: string;
  /** The text without comments. */
  readonly code: string;
}

async function sourcesIn(folder: string): Promise<Source[]> {
  const found: Source[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await sourcesIn(path));
    else {
      const text = await Deno.readTextFile(path);
      found.push({ path, code: text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, "") });
    }
  }
  return found;
}

/** The paths that a source imports, from the repository's root. */
const importsOf = ({ path, code }: Source): string[] =>
  [...code.matchAll(/from "(\.[^"]+)"/g)].map(([, to]) =>
    new URL(to!, `file:///${path}`).pathname.slice(1)
  );

/** Each import by `sources` of what `refused` names. */
const complaints = (sources: readonly Source[], refused: RegExp): string[] =>
  sources.flatMap((source) =>
    importsOf(source).filter((to) => refused.test(to)).map((to) => `${source.path} imports ${to}`)
  );

Deno.test("folders: the call path knows no web framework and no HTTP types", async () => {
  const sources = await sourcesIn("routes/call");
  deq(complaints(sources, /^routes\/(?!call\/)/), []);
  const http = /"@hono|\b(Request|Response|Headers)\b/;
  deq(sources.filter(({ code }) => http.test(code)).map(({ path }) => path), []);
});

Deno.test("folders: of MCP only the transport imports HTTP code", async () => {
  const others = (await sourcesIn("mcp")).filter(({ path }) =>
    !path.startsWith("mcp/transport/") && path !== "mcp/endpoint.ts"
  );
  deq(complaints(others, /^routes\/http\//), []);
});

Deno.test("folders: the framework imports no declaration", async () => {
  const folders = ["call", "http", "openapi", "pages", "schemas"];
  const sources = (await Promise.all(folders.map((name) => sourcesIn(`routes/${name}`)))).flat();
  deq(complaints(sources, /^routes\/\w+\.ts$/), []);
});
