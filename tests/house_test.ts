import { deepStrictEqual as deq } from "node:assert/strict";
import { circlesOf, readSourceGraph } from "./support/source_graph.ts";

/**
 * The areas of core/, lowest first. An area imports only areas before it. The composition is two files: start.ts
 * builds the areas' parts, and relay.ts says which parts a relay has and how they hear of each other.
 */
const AREAS = [
  "fault",
  "codec",
  "ports",
  "protocol",
  "shield",
  "context",
  "identity",
  "work",
  "events",
  "access",
  "agents",
  "policies",
  "delivery",
  "host",
  "relay.ts",
  "start.ts",
  "client",
  "cli",
];
const COMPOSITION = ["core/relay.ts", "core/start.ts"];
/** Folders of tests that stand for no area: other roots of the house, whole programs, and shared files. */
const OTHER_TESTS = [
  "agent_program",
  "bench",
  "build",
  "clients",
  "console",
  "contract",
  "cluster",
  "crash",
  "deploy",
  "docs",
  "e2e",
  "fixtures",
  "growth",
  "instances",
  "kv",
  "mcp",
  "routes",
  "simulation",
  "soak",
  "suite",
  "support",
];
/** Source files directly in one folder. The declarations of routes are the table of contents. */
const FOLDER_FILES_MAX = 30;
const ROUTES_FILES_MAX = 60;
/** Files that import one file. Failures and collections are used everywhere. */
const IMPORTERS_MAX = 120;
const USED_EVERYWHERE = ["core/fault/fault.ts", "kv/store/collection.ts"];

const graph = await readSourceGraph();
const edges = graph.files.flatMap((from) =>
  [...graph.imports.get(from)!].map((to) => ({ from, to }))
);

const areaOf = (file: string): string | null =>
  file.startsWith("core/") ? file.split("/")[1]! : null;
const faceOf = (area: string) => `core/${area}/${area}.ts`;

Deno.test("house: core/ holds the areas of the table and the composition, and nothing else", () => {
  const found = new Set(graph.files.map(areaOf).filter((area) => area !== null));
  deq([...found].sort(), [...AREAS].sort());
});

Deno.test("house: an area imports only areas before it in the table", () => {
  const upward = edges.filter(({ from, to }) => {
    const [importer, imported] = [areaOf(from), areaOf(to)];
    if (importer === null || imported === null) return false;
    return AREAS.indexOf(imported) > AREAS.indexOf(importer);
  });
  deq(upward.map(({ from, to }) => `${from} imports ${to}`), []);
});

Deno.test("house: other areas import an area only through its face", () => {
  const past = edges.filter(({ from, to }) => {
    const area = areaOf(to);
    return area !== null && area !== areaOf(from) && to !== faceOf(area) &&
      !COMPOSITION.includes(to);
  });
  deq(past.map(({ from, to }) => `${from} imports ${to}`), []);
});

Deno.test("house: a face begins with a paragraph about its area", async () => {
  const silent: string[] = [];
  for (const area of AREAS) {
    if (COMPOSITION.includes(`core/${area}`)) continue;
    const text = await Deno.readTextFile(faceOf(area));
    if (!/^\/\*\*\n( \*[^\n]*\n){2,} \*\//.test(text)) silent.push(faceOf(area));
  }
  deq(silent, []);
});

Deno.test("house: no circle of files, type-only imports included", () => {
  deq(circlesOf(graph), []);
});

Deno.test(`house: no folder has over ${FOLDER_FILES_MAX} files, routes/ at most ${ROUTES_FILES_MAX}`, () => {
  const counts = new Map<string, number>();
  for (const file of graph.files) {
    const folder = file.slice(0, Math.max(0, file.lastIndexOf("/")));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const crowded = [...counts].filter(([folder, count]) =>
    count > (folder === "routes" ? ROUTES_FILES_MAX : FOLDER_FILES_MAX)
  );
  deq(crowded, []);
});

Deno.test(`house: no file is imported by over ${IMPORTERS_MAX} others`, () => {
  const importers = new Map<string, number>();
  for (const { to } of edges) importers.set(to, (importers.get(to) ?? 0) + 1);
  const popular = [...importers].filter(([file, count]) =>
    count > IMPORTERS_MAX && !USED_EVERYWHERE.includes(file)
  );
  deq(popular, []);
});

Deno.test("house: a folder of tests/ is named after an area or is listed here", () => {
  const folders = [...Deno.readDirSync("tests")].filter((entry) => entry.isDirectory);
  const areas = AREAS.filter((area) => !area.endsWith(".ts"));
  const allowed = new Set([...areas, ...OTHER_TESTS]);
  deq(folders.map(({ name }) => name).filter((name) => !allowed.has(name)), []);
});

Deno.test(`house: no folder of tests/ has over ${FOLDER_FILES_MAX} files`, () => {
  const crowded: [folder: string, files: number][] = [];
  const visit = (folder: string) => {
    const entries = [...Deno.readDirSync(folder)];
    const files = entries.filter((entry) => entry.isFile).length;
    if (files > FOLDER_FILES_MAX) crowded.push([folder, files]);
    for (const entry of entries) if (entry.isDirectory) visit(`${folder}/${entry.name}`);
  };
  visit("tests");
  deq(crowded, []);
});

Deno.test("house: each folder of tests/ with tests is in one file of tests/suite/", async () => {
  const { files } = await readSourceGraph(["tests"]);
  const tests = files.filter((file) => file.endsWith("_test.ts"));
  const wanted = new Set(
    tests.map((file) => file.split("/").slice(1, -1)[0] ?? `../${file.slice(6)}`),
  );
  const suites = files.filter((file) => file.startsWith("tests/suite/"));
  const texts = await Promise.all(suites.map((file) => Deno.readTextFile(file)));
  const loaded = texts.flatMap((text) => [...text.matchAll(/"([^"]+)"/g)].map(([, name]) => name));
  deq(loaded.filter((name) => name !== "../load_tests.ts").sort(), [...wanted].sort());
});
