import { deepStrictEqual as deq } from "node:assert/strict";

/** What each folder may import. A new arrow is a decision, so it is made here. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  kv: ["kv"],
  // Archives of evidence hold the verifiers, and the command line runs one.
  core: ["core", "kv", "deno.json", "docs/verify.py", "docs/verify.ts", "docs/verify_log.ts"],
  routes: ["routes", "core", "kv"],
  mcp: ["mcp", "routes", "core", "kv"],
  // The guides are pages of docs in the program's own markup.
  console: ["console", "core/client", "docs", "routes/pages/html.ts"],
};

/** Where the clock, chance, the network and the environment may be touched. */
const AMBIENT =
  /\b(Date\.now|new Date\(\)|Math\.random|crypto\.randomUUID|getRandomValues|setTimeout|setInterval|Deno\.env|new WebSocket)\b|(?<![.\w])fetch\(/;
const AMBIENT_HOMES = [
  "core/ports/system.ts",
  "core/client/platform.ts",
  "core/cli/agent/host.ts",
  "core/cli/agent/link/dial.ts",
  "core/cli/",
  "console/app/",
];
/** The engine is touched in kv/ only; hosted schedules are registered in main.ts. */
const ENGINE = /\bDeno\.(openKv|Kv\b|KvU64|AtomicOperation)/;
const LINES_MAX = 400;
/** Written by `deno task docs`, and read by the compiler only. */
const WRITTEN = ["core/client/types.ts", "console/files.ts"];

interface Source {
  readonly path: string;
  readonly text: string;
  readonly code: string;
}

async function sources(folder: string): Promise<Source[]> {
  const found: Source[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) found.push(...await sources(path));
    else if (entry.name.endsWith(".ts")) {
      const text = await Deno.readTextFile(path);
      found.push({ path, text, code: text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, "") });
    }
  }
  return found;
}

const product = (await Promise.all(
  Object.keys(LAYERS).map((layer) =>
    sources(layer).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    })
  ),
)).flat();
const main = { path: "main.ts", code: await Deno.readTextFile("main.ts") };

Deno.test("tidy: arrows go main → console, routes, mcp → core → kv", () => {
  const complaints = product.flatMap(({ path, text }) => {
    const layer = path.split("/")[0]!;
    return [...text.matchAll(/(?:from |import\()"(\.[^"]+)"/g)].flatMap(([, target]) => {
      const to = new URL(target!, `file:///${path}`).pathname.slice(1);
      return LAYERS[layer]!.some((one) => to === one || to.startsWith(`${one}/`))
        ? []
        : [`${path} imports ${to}`];
    });
  });
  deq(complaints, []);
});

Deno.test("tidy: only routes/ knows the web framework, only kv/ the engine", () => {
  const complaints = product.flatMap(({ path, code }) => [
    ...(/from "@hono/.test(code) && !path.startsWith("routes/") ? [`${path} imports hono`] : []),
    ...(ENGINE.test(code) && !path.startsWith("kv/") ? [`${path} touches the engine`] : []),
  ]);
  deq(complaints, []);
});

Deno.test("tidy: time, chance, network and environment come through the ports", () => {
  const complaints = product
    .filter(({ path }) => !AMBIENT_HOMES.some((home) => path.startsWith(home)))
    .flatMap(({ path, code }) => {
      const found = code.match(AMBIENT);
      return found === null ? [] : [`${path} uses ${found[0]}`];
    });
  deq(complaints, []);
});

Deno.test("tidy: packages are imported statically", () => {
  // Alone in a part of the executable, a CommonJS package has no named exports. Browsers load ES modules.
  const lazy = [...product, main].filter(({ path, code }) =>
    !path.startsWith("console/app/") && /\bimport\(\s*"[^."]/.test(code)
  );
  deq(lazy.map(({ path }) => path), []);
});

Deno.test("tidy: a file can be read in one sitting", async () => {
  const tests = await sources("tests");
  const long = [...product, ...tests]
    .map(({ path, text }) => [path, text.split("\n").length - 1] as const)
    .filter(([path, lines]) => lines > LINES_MAX && !WRITTEN.includes(path));
  deq(long, []);
});

/** The names that a file takes of others: at its start, when it needs them, or to pass them on as a face. */
const IMPORTS = [
  /(?:import|export) (?:type )?\{(?<names>[^}]*)\} from "(?<from>\.[^"]+)"/g,
  /const \{(?<names>[^}]*)\} = await import\("(?<from>\.[^"]+)"\)/g,
  /\(await import\("(?<from>\.[^"]+)"\)\)\.(?<names>\w+)/g,
];

Deno.test("tidy: a value that is exported is used by another file", async () => {
  const files = [...product, ...await sources("tests"), main];
  const used = new Set(
    files.flatMap(({ path, code }) =>
      IMPORTS.flatMap((pattern) => [...code.matchAll(pattern)]).flatMap(({ groups }) => {
        const to = new URL(groups!.from!, `file:///${path}`).pathname.slice(1);
        return [...groups!.names!.matchAll(/(\w+)(?: as \w+)?\s*(?:,|$)/g)].map(([, name]) =>
          `${to} ${name}`
        );
      })
    ),
  );
  const complaints = product.flatMap(({ path, code }) =>
    [
      ...code.matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm),
      ...[...code.matchAll(/^export \{([^}]*)\} from/gm)].flatMap(([, names]) => [
        ...names!.matchAll(/(?<!type )\b(?!type\b)(\w+)/g),
      ]),
    ].map(([, name]) => `${path} ${name}`)
      .filter((name) => !used.has(name))
  );
  deq(complaints, []);
});

/** Tests of the storage itself, and those that store rows that no relay wrote. */
const RAW_KEYS = /^tests\/(kv|crash|cluster|support|bench|instances|e2e)\//;

Deno.test("tidy: tests reach stored rows through tests/support/raw_rows.ts", async () => {
  const raw = /\bkv\.(get|set|delete|list)(<[^(]*>)?\((\{ prefix: )?\[/;
  const complaints = (await sources("tests"))
    .filter(({ path, code }) => !RAW_KEYS.test(path) && raw.test(code))
    .map(({ path }) => path);
  deq(complaints, []);
});

Deno.test("tidy: nothing is left behind", () => {
  const left = /\b(TODO|FIXME|XXX|not implemented)\b|@ts-ignore|as any\b|Deno\.test\.(only|ignore)/;
  const complaints = product.filter(({ text }) => left.test(text)).map(({ path }) => path);
  deq(complaints, []);
});
