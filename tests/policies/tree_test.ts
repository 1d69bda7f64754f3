import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { World } from "../support/world.ts";
import { forbidding, withRepository } from "./git_fixtures.ts";

const FILE = "100644";
const FOLDER = "40000";

Deno.test("fetch: refuses objects that stand for too many folders", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  await host.commitTree(async (write) => {
    let oid = await write.folder([["readme", FILE, await write.file("nothing\n")]]);
    for (let level = 0; level < 6; level++) {
      const inside = oid;
      oid = await write.folder(
        Array.from({ length: 40 }, (_, n) => [`f${String(n).padStart(2, "0")}`, FOLDER, inside]),
      );
    }
    return await write.folder([["policies", FOLDER, oid]]);
  });
  const answer = await apply();
  deq([answer.status, answer.body.error?.details.git], [400, "too_large"]);
  ok(answer.text.includes("2000 folders"), answer.text);
});

Deno.test("fetch: reads a folder that is in many places, and limits the length of paths", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  const commit = (name: string, places: number) =>
    host.commitTree(async (write) => {
      const inside = await write.folder([[name, FILE, await write.file("nothing\n")]]);
      const folders = Array.from({ length: places }, (_, n) => [`f${n}`, FOLDER, inside] as const);
      return await write.folder([["policies", FOLDER, await write.folder(folders)]]);
    });
  await commit("n".repeat(1_000), 1_500);
  eq((await apply()).status, 200);
  await commit("n".repeat(1_100), 1);
  const answer = await apply();
  deq([answer.status, answer.body.error?.details.git], [400, "too_large"]);
  ok(answer.text.includes("1024 characters"), answer.text);
});

Deno.test("fetch: refuses a tree with a repeated name", async () => {
  await using world = await World.open();
  const { host, apply, get } = await withRepository(world);
  await host.commitTree(async (write) => {
    const [one, other] = [
      await write.file(forbidding("nmap")),
      await write.file(forbidding("nc")),
    ];
    const folder = await write.folder([["a.yaml", FILE, one], ["a.yaml", FILE, other]]);
    return await write.folder([["policies", FOLDER, folder]]);
  });
  const answer = await apply();
  deq([answer.status, answer.body.error?.details.git], [503, "host"]);
  eq((await get("policies")).body.policies.length, 0);
});

Deno.test("fetch: does not follow links, submodules and names that lead elsewhere", async () => {
  await using world = await World.open();
  const { host, apply } = await withRepository(world);
  await host.commitTree(async (write) => {
    const file = await write.file(forbidding("nmap"));
    const link = await write.file("../secret.yaml");
    const folder = await write.folder([
      ["a.yaml", FILE, file],
      ["link.yaml", "120000", link],
      ["module.yaml", "160000", "1".repeat(40)],
    ]);
    return await write.folder([["policies", FOLDER, folder]]);
  });
  const answer = await apply();
  deq(answer.body.plan.map(({ path }: { path: string }) => path), ["policies/a.yaml"]);
  for (const name of ["..", "../a.yaml", "a/../../b.yaml", ".", "b\\c.yaml"]) {
    await host.commitTree(async (write) => {
      const file = await write.file(forbidding("nmap"));
      const folder = await write.folder([["a.yaml", FILE, file], [name, FILE, file]]);
      return await write.folder([["policies", FOLDER, folder]]);
    });
    const hostile = await apply();
    const paths = (hostile.body.plan ?? []).map(({ path }: { path: string }) => path);
    deq([name, paths.filter((path: string) => path !== "policies/a.yaml")], [name, []]);
  }
});

Deno.test("apply: does not delete a policy whose file or folder became a link or a submodule", async () => {
  await using world = await World.open();
  const { host, apply, get } = await withRepository(world);
  const inForce = async () => {
    const { policies } = (await get("policies")).body;
    return policies.map(({ name }: { name: string }) => name);
  };
  await host.commit({
    "policies/a.yaml": forbidding("nmap"),
    "policies/team/b.yaml": forbidding("nc"),
    "policies/c.yaml": forbidding("ssh"),
  });
  eq((await apply()).status, 200);
  const a = (oid: string) => ["a.yaml", FILE, oid] as const;
  for (
    const [mode, name] of [["120000", "a.yaml"], ["120000", "team"], ["160000", "team"]] as const
  ) {
    await host.commitTree(async (write) => {
      const link = mode === "120000" ? await write.file("../shared") : "1".repeat(40);
      const team = await write.folder([["b.yaml", FILE, await write.file(forbidding("nc"))]]);
      const kept = name === "team"
        ? a(await write.file(forbidding("nmap")))
        : ["team", FOLDER, team] as const;
      const folder = await write.folder(
        [kept, [name, mode, link] as const].toSorted((x, y) => x[0] < y[0] ? -1 : 1),
      );
      return await write.folder([["policies", FOLDER, folder]]);
    });
    for (const dry_run of [true, false]) {
      const { status, body } = await apply({ dry_run });
      eq(status, 400, `${name} ${mode}`);
      ok(body.error.message.startsWith(`policies/${name} `), body.error.message);
    }
    deq(await inForce(), ["a", "b", "c"]);
  }
  // A policy whose file is truly gone is deleted, whatever links are elsewhere.
  await host.commitTree(async (write) => {
    const file = await write.file(forbidding("nmap"));
    const folder = await write.folder([a(file), ["c", "120000", await write.file("a.yaml")]]);
    return await write.folder([["policies", FOLDER, folder]]);
  });
  eq((await apply()).status, 200);
  deq(await inForce(), ["a"]);
});
