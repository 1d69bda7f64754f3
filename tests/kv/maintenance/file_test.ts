import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import type { KeyParts } from "../../../kv/store/collection.ts";
import { openFile, type StoreFile } from "../../../kv/maintenance/file.ts";
import { decodeKey, encodeKey } from "../../../kv/maintenance/file_key.ts";
import { settleFile, vacuum } from "../../../kv/maintenance/vacuum.ts";
import { random } from "../../support/random.ts";
import { withFolder } from "../../support/processes.ts";

const SEED = Number(
  Deno.env.get("RELAY_FILE_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
const NUMBERS = [-Infinity, -1e300, -1.5, -1, 0, 5e-324, 1, 1.5, 2, 2 ** 53, 1e300, Infinity];
const TEXTS = ["", " ", "a", "a b", "aa", "b", "ü", "€", "😀"];

/** Runs `use` on a store's file. */
function inFile<R>(path: string, use: (file: StoreFile) => R): R {
  using file = openFile(path);
  return use(file);
}

/** A store that the engine has open while `use` reads its file. */
async function withStore(use: (kv: Deno.Kv, path: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const kv = await Deno.openKv(`${folder}/relay.kv`);
    try {
      await use(kv, `${folder}/relay.kv`);
    } finally {
      kv.close();
    }
  });
}

Deno.test(`openFile: reads first keys in order, and values, as the engine wrote them (RELAY_FILE_SEED=${SEED})`, async () => {
  const dice = random(SEED);
  await withStore(async (kv, path) => {
    for (let n = 0; n < 200; n++) {
      const part = () =>
        dice.below(2) === 0
          ? TEXTS[dice.below(TEXTS.length)]!
          : NUMBERS[dice.below(NUMBERS.length)]!;
      await kv.set(["p", ...Array.from({ length: 1 + dice.below(3) }, part)], { n });
    }
    await kv.set(["q"], 1);
    await kv.set(["p"], 1);
    const entries = await Array.fromAsync(kv.list({ prefix: ["p"] }));
    const keys = entries.map(({ key }) => key.slice(1) as KeyParts);
    const heads = keys.filter(([first], at) => !Object.is(first, keys[at - 1]?.[0]));
    inFile(path, (file) => {
      deq(file.heads(["p"], 1_000), heads);
      deq(file.heads(["p"], 3), heads.slice(0, 3));
      deq(keys.map((key) => file.get(["p", ...key])), entries.map(({ value }) => value));
      eq(file.get(["p", "nothing"]), null);
    });
  });
});

Deno.test("encodeKey: decodeKey reverses it, and other parts are refused", () => {
  for (const key of [[], ["a"], [...TEXTS], [...NUMBERS], ["ü", -0.5, ""]]) {
    deq(decodeKey(encodeKey(key)), key);
  }
  throws(() => encodeKey(["a\0b"]), RangeError);
  throws(() => decodeKey(new Uint8Array([0x26])), RangeError);
  throws(() => decodeKey(new Uint8Array([0x02, 0x61])), RangeError);
});

Deno.test("openFile: the versionstamp is the newest commit's, also in the write-ahead log", async () => {
  await withStore(async (kv, path) => {
    for (let n = 0; n < 3; n++) {
      const { versionstamp } = await kv.set(["n"], n);
      eq(inFile(path, (file) => file.versionstamp()), versionstamp);
    }
  });
});

Deno.test("openFile: counts expired rows up to the limit", async () => {
  await withStore(async (kv, path) => {
    const now = Date.now();
    for (let n = 0; n < 5; n++) await kv.set(["n", n], n, { expireIn: 3_600_000 });
    await kv.set(["stays"], 1);
    inFile(path, (file) => {
      eq(file.expiredBefore(now + 3_600_000 - 1, 10), 0);
      eq(file.expiredBefore(now + 7_200_000, 10), 5);
      eq(file.expiredBefore(now + 7_200_000, 3), 3);
    });
  });
});

Deno.test("openFile: the error names a file that is not a store, and no file is created", async () => {
  await withFolder(async (folder) => {
    throws(() => openFile(`${folder}/none.kv`), Deno.errors.NotFound);
    Deno.writeTextFileSync(`${folder}/text.kv`, "no database at all, but a text of some length\n");
    throws(() => openFile(`${folder}/text.kv`), /text\.kv is not a store: /);
    Deno.writeTextFileSync(`${folder}/empty.kv`, "");
    throws(() => openFile(`${folder}/empty.kv`), /empty\.kv is not a store: it lacks the/);
    deq([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["empty.kv", "text.kv"]);
  });
});

Deno.test("openFile: finds faults in a damaged file and none in an intact one", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/relay.kv`;
    const kv = await Deno.openKv(path);
    for (let n = 0; n < 300; n++) await kv.set(["n", n], "x".repeat(500));
    deq(inFile(path, (file) => file.faults()), []);
    kv.close();
    settleFile(path);
    const bytes = Deno.readFileSync(path);
    bytes.fill(0x5a, bytes.length - 3 * 4096, bytes.length - 4096);
    Deno.writeFileSync(path, bytes);
    ok(inFile(path, (file) => file.faults()).length > 0);
  });
});

Deno.test("vacuum: frees the space of deleted data and keeps the rest", async () => {
  await withStore(async (kv, path) => {
    for (let n = 0; n < 500; n++) await kv.set(["n", n], "x".repeat(4_000));
    for (let n = 1; n < 500; n++) await kv.delete(["n", n]);
    const before = inFile(path, (file) => file.size());
    ok(before.freeBytes > before.bytes / 2, JSON.stringify(before));
    vacuum(path);
    const after = inFile(path, (file) => file.size());
    eq(after.freeBytes, 0);
    ok(after.bytes < before.bytes / 10);
    eq(Deno.statSync(path).size, after.bytes);
    eq((await kv.get<string>(["n", 0])).value?.length, 4_000);
  });
});
