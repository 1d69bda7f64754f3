import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import * as git from "isomorphic-git";
import { openMemoryFiles } from "../../core/policies/git/memory_files.ts";
import { type PackBounds, unfoldPack } from "../../core/policies/git/pack.ts";
import { blob, byHash, byPlace, copyAnd, file, hashOf, pack, steps } from "./packs.ts";

const BOUNDS: PackBounds = { objectsMax: 100, objectBytesMax: 10_000, totalBytesMax: 30_000 };

const unfold = (objects: readonly Buffer[], count?: number) =>
  unfoldPack(pack(objects, count), BOUNDS);

/** The hashes of all objects of a packfile, as the Git library finds them. */
async function hashesIn(packfile: Uint8Array): Promise<string[]> {
  const fs = openMemoryFiles(1024 * 1024);
  await git.init({ fs, dir: "/" });
  await fs.promises.writeFile("/a.pack", packfile);
  return (await git.indexPack({ fs, dir: "/", filepath: "a.pack" })).oids;
}

Deno.test("unfoldPack: accepts what is within the limits, and refuses what exceeds any of them", async () => {
  const large = { name: "RepositoryTooLarge" };
  await unfold([]);
  await unfold([blob(0), blob(10_000), blob(10_000), blob(9_000)]);
  await rejects(unfold([blob(10_001)]), large);
  await rejects(unfold([blob(10_000), blob(10_000), blob(10_000), blob(1)]), large);
  await rejects(unfold([], 101), large);
  const base = blob(10_000);
  const longer = (bytes: number) =>
    byPlace(
      base.length,
      steps(10_000, bytes, ...copyAnd(9_000, ""), ...copyAnd(bytes - 9_000, "")),
    );
  await unfold([base, longer(10_000)]);
  await rejects(unfold([base, longer(10_001)]), large);
  const half = byPlace(base.length, steps(10_000, 9_950, ...copyAnd(9_950, "")));
  const other = byPlace(base.length + half.length, steps(10_000, 9_950, ...copyAnd(9_950, "")));
  await unfold([base, half, other]);
  const third = base.length + half.length + other.length;
  const last = byPlace(third, steps(10_000, 100, ...copyAnd(100, "")));
  await rejects(unfold([base, half, other, last]), large);
});

Deno.test("unfoldPack: deltas become whole objects, whether they name their base by offset or by hash", async () => {
  const base = file("policies");
  const one = byPlace(base.length, steps(8, 9, ...copyAnd(6, "ing")));
  const texts = ["policies", "policiing", "policies and more", "policiing!"];
  const objects = [
    base,
    one,
    byHash(hashOf("policies"), steps(8, 17, ...copyAnd(8, " and more"))),
    byHash(hashOf("policiing"), steps(9, 10, ...copyAnd(9, "!"))),
  ];
  const whole = await unfold(objects);
  deq((await hashesIn(whole)).toSorted(), texts.map(hashOf).toSorted());
  deq(await unfoldPack(whole, BOUNDS), whole);
  const far: Buffer[] = [file("x")];
  for (let n = 0; n < 99; n++) far.push(byPlace(far.at(-1)!.length, steps(1, 1, 1, 33 + n)));
  eq((await hashesIn(await unfold(far))).length, 100);
});

Deno.test("unfoldPack: refuses a delta on itself, on a part of an object or on a missing one", async () => {
  const one = steps(1, 1, 1, 65);
  const hidden = byPlace(0, one);
  const none = /delta base missing/;
  await rejects(unfold([byPlace(0, one)]), none);
  await rejects(unfold([blob(1), byPlace(blob(1).length - 1, one)]), none);
  await rejects(unfold([file(hidden.toString("latin1")), byPlace(hidden.length, one)]), none);
  await rejects(unfold([blob(1), byPlace(blob(1).length + 12, one)]), none);
  await rejects(unfold([byHash(hashOf("later"), steps(5, 1, 1, 65)), file("later")]), none);
});

Deno.test("unfoldPack: refuses a delta that does not make what it declares", async () => {
  const base = file("base");
  const wrong = {
    "another base": steps(5, 1, 1, 65),
    "too much": steps(4, 1, 2, 65, 66),
    "too little": steps(4, 2, 1, 65),
    "beyond the base": steps(4, 5, ...copyAnd(5, "")),
    "beyond itself": steps(4, 2, 2, 65),
    "no step": steps(4, 1, 0, 1, 65),
    "no size": Buffer.alloc(9, 255),
    "nothing": Buffer.alloc(0),
  };
  for (const [name, data] of Object.entries(wrong)) {
    await rejects(unfold([base, byPlace(base.length, data)]), /delta/, name);
  }
});

Deno.test("unfoldPack: refuses wrong sizes and truncated packfiles", async () => {
  await rejects(unfold([blob(9_000, 10)]));
  await rejects(unfold([blob(10, 9_000)]), /wrong size/);
  await rejects(unfold([blob(1)], 2));
  await rejects(unfoldPack(new Uint8Array(40), BOUNDS), /not a packfile/);
  const whole = pack([blob(1), blob(2)]);
  for (let length = 0; length < whole.length - 20; length++) {
    await rejects(unfoldPack(whole.subarray(0, length), BOUNDS), `${length}`);
  }
  ok(whole.length > 40);
});
