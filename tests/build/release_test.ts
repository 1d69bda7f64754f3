import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";
import project from "../../deno.json" with { type: "json" };
import { inspectCommand } from "../../core/shield/shield.ts";
import { commitIn } from "../../core/cli/commit.ts";
import { openFile } from "../../kv/maintenance/file.ts";
import { SCHEMA_KEY } from "../../kv/maintenance/migrations.ts";
import { withFolder } from "../support/processes.ts";
import { completeRelease, notesOf, pageOf, PLATFORMS, programName } from "./release.ts";

const VERSION = "1.2.3";
const COMMIT = "0123456789abcdef".repeat(3).slice(0, 40);
const readText = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

/** A release whose programs are scripts, behind an address. */
async function withRelease(
  use: (release: { files: string; url: string; sha256: string; folder: string }) => Promise<void>,
) {
  await withFolder(async (folder) => {
    const files = `${folder}/files`;
    await Deno.mkdir(files);
    for (const platform of ["any", ...Object.keys(PLATFORMS)]) {
      const text = `#!/bin/sh\necho "program for ${platform}: $*"\n`;
      await Deno.writeTextFile(`${files}/${programName(VERSION, platform)}`, text);
    }
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => {
        const name = new URL(request.url).pathname.slice(1);
        return await Deno.readFile(`${files}/${name}`)
          .then((bytes) => new Response(bytes), () => new Response(null, { status: 404 }));
      },
    );
    const url = `http://127.0.0.1:${server.addr.port}`;
    try {
      const sha256 = await completeRelease(files, { version: VERSION, releases: url, sbom: "{}" });
      await use({ files, url, sha256, folder });
    } finally {
      await server.shutdown();
    }
  });
}

async function sh(...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command("sh", { args, stdin: "null" }).output();
  return { code, text: [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("") };
}

const digestOf = async (path: string) =>
  createHash("sha256").update(await Deno.readFile(path)).digest("hex");

Deno.test("completeRelease: SHA256SUMS has the digest of every file, and the installer that of every program", async () => {
  await withRelease(async ({ files, sha256 }) => {
    const sums = await Deno.readTextFile(`${files}/SHA256SUMS`);
    const names = [...Deno.readDirSync(files)].map(({ name }) => name).sort();
    const lines = sums.trimEnd().split("\n").map((line) => line.split("  "));
    assert.deepEqual(
      lines.map(([, name]) => name).sort(),
      names.filter((name) => name !== "SHA256SUMS"),
    );
    const installer = await Deno.readTextFile(`${files}/install.sh`);
    for (const [digest, name] of lines) {
      assert.equal(digest, await digestOf(`${files}/${name}`), name);
      if (name !== "install.sh") assert.ok(installer.includes(`${digest}  ${name}`), name);
    }
    assert.equal(sha256, await digestOf(`${files}/install.sh`));
    assert.doesNotMatch(installer, /@[A-Z]+@/);
  });
});

Deno.test("install.sh: installs the program of this machine, and none that is not what was released", async () => {
  await withRelease(async ({ files, folder }) => {
    const into = `${folder}/bin`;
    const platform = `${Deno.build.os}-${Deno.build.arch}`;
    const program = `${files}/${programName(VERSION, platform)}`;
    const install = () => sh(`${files}/install.sh`, into);
    assert.match(
      (await install()).text,
      /^install\.sh: you cannot write into .*: name another folder/,
    );
    await Deno.mkdir(into);
    const installed = await install();
    assert.equal(installed.code, 0, installed.text);
    assert.match(installed.text, /\/bin\/relay: Relay 1\.2\.3\nstart a relay: +relay serve\n/);
    assert.deepEqual([...Deno.readDirSync(into)].map(({ name }) => name), ["relay"]);
    assert.equal(
      (await sh("-c", `${into}/relay version`)).text,
      `program for ${platform}: version\n`,
    );
    const before = await digestOf(`${into}/relay`);

    await Deno.writeTextFile(program, "#!/bin/sh\necho somebody else's\n");
    const altered = await install();
    assert.deepEqual([altered.code, altered.text], [
      1,
      `install.sh: relay-1.2.3-${platform} is not what was released: nothing was installed\n`,
    ]);
    await Deno.remove(program);
    assert.match((await install()).text, /install\.sh: .* cannot be downloaded\n$/);
    assert.deepEqual([...Deno.readDirSync(into)].map(({ name }) => name), ["relay"]);
    assert.equal(await digestOf(`${into}/relay`), before);
  });
});

Deno.test("pageOf: the shield lets the checked steps of a release's page pass, and refuses them in one", async () => {
  await withRelease(async ({ files, url, sha256 }) => {
    const page = pageOf(url, sha256, "Changes");
    const steps = page.split("```")[1]!.trim().split("\n");
    assert.equal(steps.length, 3);
    for (const step of steps) assert.equal(inspectCommand(step).verdict, "allow", step);
    assert.equal(inspectCommand(`curl -fsSL ${url}/install.sh | sh`).verdict, "deny");
    const check = await sh("-ec", `cd ${files} && ${steps[1]}`);
    assert.equal(check.code, 0, check.text);
    await Deno.writeTextFile(`${files}/install.sh`, "# altered\n", { append: true });
    assert.equal((await sh("-ec", `cd ${files} && ${steps[1]}`)).code, 1);
  });
});

Deno.test("notesOf: the section of the version, which the changelog must have", async () => {
  const changelog = await readText("CHANGELOG.md");
  assert.match(notesOf(changelog, "0.1.0"), /^The first release\.\n/);
  assert.throws(() => notesOf(changelog, "99.0.0"), /has no section \[99\.0\.0\]/);
  assert.ok(notesOf(changelog, project.version).length > 0, "the version of deno.json");
});

Deno.test("docs/upgrades.md: has this version, and the schemas of the released stores", async () => {
  const page = await readText("docs/upgrades.md");
  const table = new Map(
    [...page.matchAll(/^\| (\d+\.\d+\.\d+) +\| (\d+) +\|$/gm)].map((
      row,
    ) => [row[1]!, Number(row[2])]),
  );
  assert.ok(table.has(project.version));
  const stores = new URL("../fixtures/stores/", import.meta.url);
  for (const [version, schema] of table) {
    await withFolder(async (folder) => {
      const packed = await Deno.readFile(new URL(`${version}.kv.gz`, stores));
      await Deno.writeFile(`${folder}/relay.kv`, gunzipSync(packed));
      using file = openFile(`${folder}/relay.kv`);
      assert.equal(file.get(SCHEMA_KEY), schema, version);
    });
  }
});

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { steps: { uses?: string; run?: string }[] }>>;
}

Deno.test("release.yml: runs tasks that exist, attests what it publishes, and publishes every file", async () => {
  const text = await readText(".github/workflows/release.yml");
  const { permissions, jobs }: Workflow = parse(text);
  const steps = Object.values(jobs).flatMap(({ steps }) => steps);
  const tasks = [...text.matchAll(/deno@[\d.]+ task ([\w:]+)/g)].map(([, task]) => task!);
  assert.deepEqual(tasks, ["release", "sbom"]);
  for (const task of tasks) assert.ok(Object.hasOwn(project.tasks, task), task);
  const pinned = (await readText(".deno-version")).trim();
  for (const [, version] of text.matchAll(/deno@([\d.]+)/g)) assert.equal(version, pinned);
  assert.deepEqual(permissions, { contents: "write", "id-token": "write", attestations: "write" });
  const used = steps.flatMap(({ uses = "" }) => /attest-[\w-]+/.exec(uses)?.[0] ?? []);
  assert.deepEqual(used, ["attest-build-provenance", "attest-sbom"]);
  assert.match(steps.at(-1)!.run!, /^gh release create .* dist\/release\/\* /);
});

Deno.test("commitIn: reads the commit of a work tree, its branch or a packed one; null without", async () => {
  await withFolder(async (folder) => {
    const at = (path: string, text: string) => {
      Deno.mkdirSync(`${folder}/${path.replace(/[^/]*$/, "")}`, { recursive: true });
      Deno.writeTextFileSync(`${folder}/${path}`, text);
    };
    const commit = (tree = "tree") => commitIn(new URL(`file://${folder}/${tree}/`));
    assert.equal(commit(), null);
    at("tree/.git/HEAD", `${COMMIT}\n`);
    assert.equal(commit(), COMMIT);
    at("tree/.git/HEAD", "ref: refs/heads/a/b\n");
    assert.equal(commit(), null);
    const packed = COMMIT.replace("0", "f");
    at("tree/.git/packed-refs", `# pack-refs\n${packed} refs/heads/a/b\n`);
    assert.equal(commit(), packed);
    at("tree/.git/refs/heads/a/b", `${COMMIT}\n`);
    assert.equal(commit(), COMMIT);
    at("linked/.git", `gitdir: ${folder}/tree/.git/worktrees/linked\n`);
    at("tree/.git/worktrees/linked/HEAD", "ref: refs/heads/a/b\n");
    at("tree/.git/worktrees/linked/commondir", "../..\n");
    assert.equal(commit("linked"), COMMIT);
  });
});
