import { readdirSync, readFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);

/** A file of the repository, as text. */
export const textOf = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");

/** The path of a file of the repository. */
export const pathOf = (path: string): string => new URL(path, ROOT).pathname;

/** Every file of `deploy/`, by its path. */
export const DEPLOYED: ReadonlyMap<string, string> = new Map(
  readdirSync(new URL("deploy/", ROOT), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(ROOT.pathname.length))
    .map((path) => [path.replace("//", "/"), textOf(path)] as const),
);

/** The stages of the Dockerfile, with their instructions. */
export function stagesOf(dockerfile: string): Map<string, [instruction: string, value: string][]> {
  const stages = new Map<string, [string, string][]>();
  const lines = dockerfile.replaceAll(/^#.*\n/gm, "").replaceAll(/\s*\\\n\s*/g, " ").split("\n");
  let stage: [string, string][] = [];
  for (const line of lines) {
    const [, instruction, value] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (instruction === undefined) continue;
    if (instruction === "FROM") stages.set(/ AS (\w+)$/.exec(value!)![1]!, stage = []);
    stage.push([instruction, value!]);
  }
  return stages;
}

/** The value of an instruction in a stage, which has it once. */
export function instructionOf(stage: readonly [string, string][], name: string): string {
  const found = stage.filter(([instruction]) => instruction === name);
  if (found.length !== 1) throw new Error(`a stage has ${found.length} of ${name}`);
  return found[0]![1];
}
