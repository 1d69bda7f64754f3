import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import { fileURLToPath } from "node:url";
import project from "../../deno.json" with { type: "json" };
import { commitIn } from "../../core/cli/commit.ts";
import { ROOT } from "./make_bundle.ts";

/** A package of the lock file. A dependency has a version only where the lock file has several of its name. */
interface Locked {
  readonly integrity: string;
  readonly dependencies?: readonly string[];
}

const { npm: LOCKED }: { npm: Readonly<Record<string, Locked>> } = JSON.parse(
  await Deno.readTextFile(new URL("deno.lock", ROOT)),
);

/**
 * The software bill of materials of the program, CycloneDX 1.6: the packages of the lock file that `roots` need, such
 * as `hono@4.13.19`, and the runtime. The same inputs give the same text.
 */
export function sbomOf(roots: readonly string[], denoVersion: string, commit: string | null) {
  const { version } = project;
  const self = `relay@${version}`;
  const keys = closureOf(roots.map(keyOf));
  const runtime = {
    type: "platform",
    "bom-ref": `deno@${denoVersion}`,
    name: "deno",
    version: denoVersion,
    purl: `pkg:github/denoland/deno@v${denoVersion}`,
  };
  const components = [runtime, ...keys.map(componentOf)];
  const content = {
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": self,
        name: "relay",
        version,
        ...commit !== null && { properties: [{ name: "relay:commit", value: commit }] },
      },
    },
    components,
    dependencies: [
      { ref: self, dependsOn: [runtime["bom-ref"], ...roots.map(keyOf).map(refOf)].sort() },
      { ref: runtime["bom-ref"] },
      ...keys.map((key) => ({ ref: refOf(key), dependsOn: needs(key).map(refOf).sort() })),
    ],
  };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    ...content,
  };
}

/** The packages that the program imports, which a test or a tool may not. */
export async function rootsOf(main: string): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", main],
    cwd: fileURLToPath(ROOT),
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as {
    modules: readonly { readonly specifier: string }[];
  };
  const names = modules.flatMap(({ specifier }) =>
    /^npm:\/(@?[^@]+@[^/]+)/.exec(specifier)?.[1] ?? []
  );
  return [...new Set(names)].sort();
}

/** The lock file's key of a package; it names the versions of peers too. */
function keyOf(named: string): string {
  const found = Object.keys(LOCKED).find((key) =>
    refOf(key) === named || (!/.@/.test(named) && refOf(key).startsWith(`${named}@`))
  );
  if (found === undefined) throw new Error(`deno.lock has no package ${named}`);
  return found;
}

/** A key without its peers. */
const refOf = (key: string): string => /^@?[^@]+@[^_]+/.exec(key)![0];

const needs = (key: string): string[] => (LOCKED[key]!.dependencies ?? []).map(keyOf);

function closureOf(keys: readonly string[]): string[] {
  const found = new Set(keys);
  for (const key of found) for (const needed of needs(key)) found.add(needed);
  return [...found].sort();
}

function componentOf(key: string) {
  const ref = refOf(key);
  const [, group, name, version] = /^(?:(@[^/]+)\/)?([^@]+)@(.+)$/.exec(ref)!;
  const [algorithm, digest] = LOCKED[key]!.integrity.split("-", 2) as [string, string];
  if (algorithm !== "sha512") throw new Error(`${ref} has a digest by ${algorithm}`);
  const path = group === undefined ? name : `${encodeURIComponent(group)}/${name}`;
  return {
    type: "library",
    "bom-ref": ref,
    ...group !== undefined && { group },
    name,
    version,
    purl: `pkg:npm/${path}@${version}`,
    hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
  };
}

/** A UUID of version 8 that follows from a text. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** The text of the program's bill of materials. */
export async function sbomText(): Promise<string> {
  const deno = (await Deno.readTextFile(new URL(".deno-version", ROOT))).trim();
  return `${JSON.stringify(sbomOf(await rootsOf("main.ts"), deno, commitIn(ROOT)), null, 2)}\n`;
}

if (import.meta.main) {
  const output = new URL("dist/relay.cdx.json", ROOT);
  await Deno.mkdir(new URL("dist/", ROOT), { recursive: true });
  await Deno.writeTextFile(output, await sbomText());
  console.log(output.pathname);
}
