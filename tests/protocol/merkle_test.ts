import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  consistencyPath,
  EMPTY_ROOT,
  GrowingTree,
  type Hash,
  inclusionPath,
  leafHash,
  leafHashes,
  rangeHash,
  type ReadNode,
  sameHash,
  subtreesOf,
  verifyConsistency,
} from "../../core/protocol/checkpoints/merkle.ts";
import { leanLeafHash } from "../../core/protocol/checkpoints/lean_hash.ts";
import { foldHashes, nodeHash } from "../../core/protocol/checkpoints/node_hash.ts";
import { mulberry32 } from "../support/random.ts";
import { verifyInclusion } from "../support/inclusion.ts";

const hex = (bytes: Uint8Array) => bytes.toHex();
const sha256 = (...parts: Uint8Array[]): Hash => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

/** The tree as RFC 6962 defines it: MTH(D[n]). */
function definedRoot(leaves: readonly Uint8Array[]): Hash {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0] as Hash;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)].map(definedRoot);
  return sha256(Uint8Array.of(1), left!, right!);
}

const nodesOver = (leaves: readonly Uint8Array[]): ReadNode => (level, index) =>
  definedRoot(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));

/** The reference vectors of Certificate Transparency: leaves, and the root after each leaf. */
const LEAVES = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
]
  .map((leaf) => sha256(Uint8Array.of(0), Uint8Array.fromHex(leaf)));
const ROOTS = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];
const INCLUSION: [index: number, size: number, path: string[]][] = [
  [0, 1, []],
  [0, 8, [
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
  ]],
  [5, 8, [
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  ]],
  [2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]],
  [1, 5, [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
  ]],
];
const CONSISTENCY: [from: number, to: number, path: string[]][] = [
  [1, 1, []],
  [1, 8, INCLUSION[1]![2]],
  [6, 8, [
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  ]],
  [2, 5, [
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
  ]],
];

Deno.test("merkle: roots and proofs equal RFC 6962's reference vectors", async () => {
  eq(hex(EMPTY_ROOT), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const read = nodesOver(LEAVES), tree = new GrowingTree();
  for (const [at, leaf] of LEAVES.entries()) {
    tree.add(leaf);
    eq(hex(tree.root()), ROOTS[at]);
    eq(hex(await rangeHash(read, 0, at + 1)), ROOTS[at]);
  }
  for (const [index, size, path] of INCLUSION) {
    deq((await inclusionPath(read, index, size)).map(hex), path);
    const hashes = path.map((text) => Uint8Array.fromHex(text));
    ok(verifyInclusion(LEAVES[index]!, index, size, hashes, Uint8Array.fromHex(ROOTS[size - 1]!)));
  }
  for (const [from, to, path] of CONSISTENCY) {
    deq((await consistencyPath(read, from, to)).map(hex), path);
    const hashes = path.map((text) => Uint8Array.fromHex(text));
    const [old, now] = [from, to].map((size) => Uint8Array.fromHex(ROOTS[size - 1]!));
    ok(verifyConsistency(from, to, old!, now!, hashes));
  }
});

Deno.test("nodeHash, leafHash, leafHashes, foldHashes: equal SHA-256 with RFC 6962's prefixes", () => {
  const random = mulberry32(7);
  const bytes = () => Uint8Array.from({ length: 32 }, () => random() * 256);
  for (let n = 0; n < 1_000; n++) {
    const [left, right] = [bytes(), bytes()];
    eq(hex(nodeHash(left, right)), hex(sha256(Uint8Array.of(1), left, right)));
  }
  const text = '{"a":"ä€😀"}';
  eq(hex(leafHash(text)), hex(sha256(Uint8Array.of(0), new TextEncoder().encode(text))));
  deq(leafHashes(["", text]), new Uint8Array([...leafHash(""), ...leafHash(text)]));
  const left = bytes();
  for (let last = 0; last < 256; last++) {
    const right = bytes().fill(last, 31);
    eq(hex(nodeHash(left, right)), hex(sha256(Uint8Array.of(1), left, right)));
  }
  const side = Array.from({ length: 256 }, bytes);
  const together = new Uint8Array(side.flatMap((hash) => [...hash]));
  for (const [from, count] of [[0, 256], [128, 128], [36, 4], [255, 1]] as const) {
    eq(hex(foldHashes(together, from, count)), hex(definedRoot(side.slice(from, from + count))));
  }
});

Deno.test("merkle: every proof of every small tree verifies, and no proof with a flipped bit does", async () => {
  const leaves = Array.from({ length: 40 }, (_, n) => leafHash(`${n}`));
  const read = nodesOver(leaves);
  for (let to = 1; to <= leaves.length; to++) {
    const root = definedRoot(leaves.slice(0, to));
    for (let at = 0; at < to; at++) {
      const path = await inclusionPath(read, at, to);
      ok(verifyInclusion(leaves[at]!, at, to, path, root));
      ok(!verifyInclusion(leaves[at]!, at + 1, to, path, root), `${at} of ${to}`);
      ok(!verifyInclusion(nodeHash(root, root), at, to, path, root));
      ok(!verifyInclusion(leaves[at]!, at, to, [...path, root], root));
      for (const [n, hash] of path.entries()) {
        const other = path.with(n, nodeHash(hash, hash));
        ok(!verifyInclusion(leaves[at]!, at, to, other, root), `${at} of ${to}, hash ${n}`);
      }
      const from = at + 1, old = definedRoot(leaves.slice(0, from));
      const proof = await consistencyPath(read, from, to);
      ok(verifyConsistency(from, to, old, root, proof), `${from} in ${to}`);
      ok(!verifyConsistency(from, to, nodeHash(old, old), root, proof));
      ok(!verifyConsistency(from, to, old, nodeHash(root, root), proof));
      for (const [n, hash] of proof.entries()) {
        const other = proof.with(n, nodeHash(hash, hash));
        ok(!verifyConsistency(from, to, old, root, other), `${from} in ${to}, hash ${n}`);
      }
    }
  }
});

Deno.test("subtreesOf: covers any range without a gap, and a tree grown from them has the same root", () => {
  const leaves = Array.from({ length: 70 }, (_, n) => leafHash(`${n}`));
  for (let lo = 0; lo < 70; lo += 3) {
    for (let hi = lo; hi <= 70; hi++) {
      const tree = new GrowingTree();
      leaves.slice(0, lo).forEach((leaf) => tree.add(leaf));
      let at = lo;
      for (const { level, index } of subtreesOf(lo, hi)) {
        eq(index * 2 ** level, at);
        at += 2 ** level;
        tree.add(definedRoot(leaves.slice(index * 2 ** level, at)), level);
      }
      eq(at, hi);
      ok(sameHash(tree.root(), definedRoot(leaves.slice(0, hi))));
    }
  }
  const odd = new GrowingTree();
  odd.add(leaves[0]!);
  throws(() => odd.add(leaves[1]!, 1), RangeError);
});

Deno.test("leanLeafHash: it is the leaf's hash, whatever the text's length and characters", () => {
  for (const part of ["a", "é", "€", "😀", "\ud800"]) {
    for (let length = 0; length <= 1_100; length++) {
      const text = part.repeat(length);
      eq(hex(leanLeafHash(text)), hex(leafHash(text)), `${length} times ${part}`);
    }
  }
});
