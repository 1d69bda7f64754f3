import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import project from "../../deno.json" with { type: "json" };
import { clientOf } from "../clients/status_client.ts";
import { makeBundle, makeChunks } from "./make_bundle.ts";
import { programArguments, V8_FLAGS } from "../../core/cli/program.ts";
import { makeKey, signUpOwner, START_MS, startMain, withFolder } from "../support/processes.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const [, COMPILE] = project.tasks.build.command.split(" && ");
const BUILD = COMPILE!.split(" ").slice(1);
const COMMIT = "0123456789abcdef".repeat(3).slice(0, 40);
/** The executable's permissions. They are fixed at build time, so the tests run the bundle and the chunks with them. */
const PERMISSIONS = BUILD.filter((word) => /^--(allow-|no-prompt)/.test(word));

async function deno(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
  });
  const { code, stdout, stderr } = await command.output();
  const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  assert.equal(code, 0, text);
  return text;
}

/** Makes the program in a folder. Returns the path of the entry file. */
type Make = (folder: string) => Promise<string>;

async function bundleIn(folder: string): Promise<string> {
  await makeBundle(`${folder}/relay.js`, ROOT, COMMIT);
  return `${folder}/relay.js`;
}

async function chunksIn(folder: string): Promise<string> {
  await makeChunks(`${folder}/chunks`, ROOT, COMMIT);
  return `${folder}/chunks/main.js`;
}

/** The program without any configuration around it, with the executable's permissions. */
const startBuilt = (main: string, args: readonly string[], env: Record<string, string> = {}) =>
  startMain(args, env, { main, permissions: PERMISSIONS });

Deno.test("build: the bundle serves, runs an agent and keeps a store with the executable's permissions", () =>
  checkProgram(bundleIn));

Deno.test("build: the chunks of the executable serve, run an agent and keep a store with its permissions", () =>
  checkProgram(chunksIn));

async function checkProgram(make: Make): Promise<void> {
  await withFolder(async (folder) => {
    const main = await make(folder);

    const version = startBuilt(main, ["version"]);
    assert.equal((await version.ended).code, 0);
    assert.deepEqual(version.lines, [`relay ${project.version} (commit 0123456789ab)`]);

    const relay = startBuilt(main, ["serve"], {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_PORT: "0",
    });
    try {
      const [, url] = await relay.line(/ is ready at (\S+)$/, START_MS);
      const anonymous = clientOf(url!);
      assert.deepEqual((await anonymous("GET", "/healthz")).body, { status: "ok" });
      assert.match((await anonymous<string>("GET", "/docs")).body, /^\s*<!doctype html>/);
      const page = (await anonymous<string>("GET", "/console")).body;
      const [entry] = /\/console\/assets\/[^"]+main\.ts/.exec(page)!;
      assert.match((await anonymous<string>("GET", entry)).body, /startRouter\(\)/);
      const owner = clientOf(url!, await signUpOwner(anonymous));
      assert.equal((await owner("GET", "/metrics")).status, 200);

      const agent = startBuilt(main, ["agent", "--url", url!, "--state", `${folder}/agent`], {
        RELAY_TOKEN: await makeKey(owner, ["agents:admin"]),
      });
      try {
        const [, id] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
        const { body } = await owner<{ stdout: string }>("GET", `/api/exec/${id}?command=echo+hi`);
        assert.equal(body.stdout, "hi\n");
      } finally {
        assert.equal((await agent.stop()).code, 0);
      }
    } finally {
      assert.equal((await relay.stop()).code, 0);
    }

    const keep: readonly (readonly string[])[] = [
      ["doctor"],
      ["backup", `${folder}/backup`],
      ["secret", "rotate"],
      ["compact"],
    ];
    for (const args of keep) {
      const program = startBuilt(main, args, { RELAY_KV: `${folder}/relay.kv` });
      assert.equal((await program.ended).code, 0, program.lines.join("\n"));
    }
  });
}

Deno.test("build: the executable has the features of Deno with which the program runs from source", () => {
  const features = (words: readonly string[]) =>
    words.filter((word) => word.startsWith("--unstable-"));
  assert.deepEqual(features(BUILD), features(programArguments([], {})));
});

Deno.test("build: the tasks, the executable and the image give their relays the same heap", async () => {
  const { start, dev, build, bench } = project.tasks;
  const image = await Deno.readTextFile(`${ROOT}deploy/Dockerfile`);
  for (const text of [...[start, dev, build, bench].map(({ command }) => command), image]) {
    assert.deepEqual(text.match(/--v8-flags=[^\s"]+/g), [V8_FLAGS]);
  }
});

Deno.test("build: the executable links with all its modules on any base runtime", async () => {
  await withFolder(async (folder) => {
    const output = `${folder}/relay`;
    // A configuration above the chunks, as in the repository, could leave out those that are imported dynamically.
    const { unstable } = project;
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ unstable }));
    const own = new Map([["dist/relay", output], ["dist/chunks/main.js", await chunksIn(folder)]]);
    const args = BUILD.map((word) => own.get(word) ?? word);
    for (const path of own.values()) assert.ok(args.includes(path), `the task names ${path}`);
    // The real base runtime is a download; any executable of this system takes its place here.
    const base = Deno.execPath();
    const said = await deno(args, { DENORT_BIN: base });
    assert.match(said, /Embedded Files/);
    for (const { name } of Deno.readDirSync(`${folder}/chunks`)) {
      assert.ok(said.includes(`── ${name} `), `${name} is not embedded`);
    }
    assert.ok((await Deno.stat(output)).size > (await Deno.stat(base)).size);
  });
});

/** Copies what a bundle is made of, without the folder of Git. */
async function copyTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (/^(\.git|dist|tests|node_modules)$/.test(name)) continue;
    if (isDirectory) await copyTree(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

Deno.test("bundle: two folders with the same files give the same bytes, which only the commit changes", async () => {
  await withFolder(async (folder) => {
    const bundles: Uint8Array[] = [];
    for (const [at, commit] of [["one", COMMIT], ["and/another", COMMIT]] as const) {
      await copyTree(ROOT, `${folder}/${at}`);
      await makeBundle(`${folder}/${at}.js`, `${folder}/${at}`, commit);
      bundles.push(await Deno.readFile(`${folder}/${at}.js`));
    }
    assert.ok(bundles[0]!.length > 1_000_000);
    assert.ok(Buffer.from(bundles[0]!).equals(bundles[1]!));
    const text = new TextDecoder().decode(bundles[0]);
    for (const place of [folder, ROOT]) assert.ok(!text.includes(place), place);
  });
});

Deno.test("build: every page names the one Deno version that is pinned", async () => {
  const pinned = (await Deno.readTextFile(`${ROOT}.deno-version`)).trim();
  const pages = ["", "docs/"].flatMap((folder) =>
    [...Deno.readDirSync(ROOT + folder)].map(({ name }) => folder + name)
  );
  for (const page of pages.filter((page) => page.endsWith(".md"))) {
    const text = await Deno.readTextFile(ROOT + page);
    for (const [whole, version] of text.matchAll(/\bdeno[@:](\d+\.\d+\.\d+)/g)) {
      assert.equal(version, pinned, `${page}: ${whole}`);
    }
  }
});
