import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import project from "../../deno.json" with { type: "json" };
import { makeBundle, makeChunks, ROOT } from "./make_bundle.ts";
import { sbomText } from "./sbom.ts";

/** The platforms that programs are compiled for, as agents name them. */
export const PLATFORMS: Readonly<Record<string, string>> = {
  "linux-x86_64": "x86_64-unknown-linux-gnu",
  "linux-aarch64": "aarch64-unknown-linux-gnu",
  "darwin-x86_64": "x86_64-apple-darwin",
  "darwin-aarch64": "aarch64-apple-darwin",
  "windows-x86_64": "x86_64-pc-windows-msvc",
};

/** A program as `RELAY_AGENT_PROGRAMS` expects it. */
export const programName = (version: string, platform: string): string =>
  platform === "any"
    ? `relay-${version}.js`
    : `relay-${version}-${platform}${platform.startsWith("windows-") ? ".exe" : ""}`;

/** The changes of a version. @throws {Error} when the changelog has none */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m);
  const found = sections.find((section) => section.startsWith(`[${version}] - `));
  if (found === undefined) throw new Error(`CHANGELOG.md has no section [${version}] with a date`);
  return found.slice(found.indexOf("\n")).trim();
}

/**
 * Completes a folder of programs to a release: the bill of materials, the installer with the digests of the programs,
 * and the digests of everything. Returns the SHA-256 of the installer.
 * @param releases the address under which the files will be
 */
export async function completeRelease(
  folder: string,
  { version, releases, sbom }: { version: string; releases: string; sbom: string },
): Promise<string> {
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder}/${name}`, text);
  await write(`relay-${version}.cdx.json`, sbom);
  const digests = await digestsOf(folder);
  const installer = await Deno.readTextFile(new URL("deploy/install.sh", ROOT));
  const filled = installer
    .replaceAll("@VERSION@", version)
    .replaceAll("@RELEASES@", releases)
    .replaceAll("@DIGESTS@", digests.map(lineOf).join("\n"));
  await write("install.sh", filled);
  const all = await digestsOf(folder);
  await write("SHA256SUMS", all.map((digest) => `${lineOf(digest)}\n`).join(""));
  return all.find(({ name }) => name === "install.sh")!.sha256;
}

/** The text of a release's page: how to install it, and its changes. */
export const pageOf = (releases: string, sha256: string, notes: string): string =>
  `\`\`\`
curl -fsSLO ${releases}/install.sh
echo "${sha256}  install.sh" | sha256sum --check
sh install.sh
\`\`\`

${notes}
`;

interface NamedDigest {
  readonly name: string;
  readonly sha256: string;
}

const lineOf = ({ name, sha256 }: NamedDigest): string => `${sha256}  ${name}`;

async function digestsOf(folder: string): Promise<NamedDigest[]> {
  const digests: NamedDigest[] = [];
  for (const { name } of [...Deno.readDirSync(folder)]) {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    digests.push({ name, sha256: createHash("sha256").update(bytes).digest("hex") });
  }
  return digests.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Compiles the program for a platform, as `deno task build` does for this one. */
async function compile(target: string, output: string): Promise<void> {
  const [, build] = project.tasks.build.command.split(" && ");
  const args = build!.split(" ").slice(1).map((word) => word === "dist/relay" ? output : word);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [args[0]!, "--target", target, ...args.slice(1)],
    cwd: fileURLToPath(ROOT),
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Makes the files of a release in dist/release, and its page beside them. */
async function release([tag, releases]: readonly string[]): Promise<void> {
  const { version } = project;
  if (releases === undefined || tag !== `v${version}`) {
    throw new Error(
      `Give the tag v${version} of deno.json's version, and the address of its files`,
    );
  }
  const notes = notesOf(await Deno.readTextFile(new URL("CHANGELOG.md", ROOT)), version);
  const folder = fileURLToPath(new URL("dist/release", ROOT));
  await makeBundle(`${folder}/${programName(version, "any")}`);
  await makeChunks(fileURLToPath(new URL("dist/chunks", ROOT)));
  for (const [platform, target] of Object.entries(PLATFORMS)) {
    await compile(target, `${folder}/${programName(version, platform)}`);
  }
  const sbom = await sbomText();
  const sha256 = await completeRelease(folder, { version, releases, sbom });
  await Deno.writeTextFile(`${folder}.md`, pageOf(releases, sha256, notes));
}

if (import.meta.main) await release(Deno.args);
