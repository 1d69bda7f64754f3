/** Source files and what each imports, type-only imports included. */
export interface SourceGraph {
  /** Paths from the root, such as `core/start.ts`. */
  readonly files: readonly string[];
  /** The files that a file imports. */
  readonly imports: ReadonlyMap<string, ReadonlySet<string>>;
}

const ROOTS = ["console", "core", "kv", "mcp", "routes"];
const SPECIFIER =
  /(?:^(?:import|export)\s[^;"']*?from\s+|^import\s+|\bimport\(\s*)"(\.[^"]+)"(?! with \{ type: "text" \})/gm;

/** Reads the graph of main.ts and the files below some folders from their import lines. */
export async function readSourceGraph(roots: readonly string[] = ROOTS): Promise<SourceGraph> {
  const files = ["main.ts", ...(await Promise.all(roots.map(filesIn))).flat()].sort();
  const known = new Set(files);
  const imports = new Map<string, ReadonlySet<string>>();
  for (const file of files) {
    const code = (await Deno.readTextFile(file)).replaceAll(/\/\*[\s\S]*?\*\//g, "");
    const targets = [...code.matchAll(SPECIFIER)]
      .map(([, target]) => new URL(target!, `file:///${file}`).pathname.slice(1));
    imports.set(file, new Set(targets.filter((target) => known.has(target))));
  }
  return { files, imports };
}

async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await filesIn(path));
    else if (name.endsWith(".ts")) found.push(path);
  }
  return found;
}

/** True when a file imports another one, directly or through others. */
export function reaches({ imports }: SourceGraph, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const file of seen) imports.get(file)?.forEach((next) => seen.add(next));
  return seen.has(to);
}

/** The circles of files: sets in which every file reaches every other by imports (Tarjan's algorithm). */
export function circlesOf({ files, imports }: SourceGraph): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string) => {
    index.set(file, index.size);
    low.set(file, index.get(file)!);
    stack.push(file);
    for (const next of imports.get(file)!) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(file, Math.min(low.get(file)!, low.get(next)!));
    }
    if (low.get(file) !== index.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return circles;
}
