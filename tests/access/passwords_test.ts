import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";

import { Fault } from "../../core/fault/fault.ts";
import {
  hashPassword,
  needsRehash,
  passwordProblem,
  verifyPassword,
} from "../../core/access/sign_in/passwords.ts";
import { passwordCost } from "../../core/ports/password_hash.ts";
import { ManualClock } from "../support/clock.ts";
import { seededEntropy } from "../support/world.ts";

const ports = { entropy: seededEntropy(3, new ManualClock()), passwordCost: passwordCost() };
const PASSWORD = "correct horse";

/** Runs a test in a runtime that has no Argon2id. */
async function withoutArgon2(test: () => Promise<void>): Promise<void> {
  const supports = SubtleCrypto.supports;
  SubtleCrypto.supports = () => false;
  try {
    await test();
  } finally {
    SubtleCrypto.supports = supports;
  }
}

/** One turn of the event loop. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Replaces the hashing itself by promises that the test settles; tells how many are under way. */
async function withHeldHashes(
  test: (held: PromiseWithResolvers<ArrayBuffer>[]) => Promise<void>,
): Promise<void> {
  const held: PromiseWithResolvers<ArrayBuffer>[] = [];
  const deriveBits = crypto.subtle.deriveBits;
  crypto.subtle.deriveBits = () => {
    const one = Promise.withResolvers<ArrayBuffer>();
    held.push(one);
    return one.promise;
  };
  try {
    await test(held);
  } finally {
    crypto.subtle.deriveBits = deriveBits;
  }
}

Deno.test("hashPassword: makes an Argon2id PHC string that verifies its password only", async () => {
  const phc = await hashPassword(PASSWORD, ports);
  assert.match(
    phc,
    /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
  );
  assert.equal(await verifyPassword(PASSWORD, phc, ports), true);
  for (const other of ["Correct horse", "correct horse ", "", PASSWORD.repeat(100)]) {
    assert.equal(await verifyPassword(other, phc, ports), false, other);
  }
});

Deno.test("hashPassword: the same password never has the same hash", async () => {
  assert.notEqual(await hashPassword(PASSWORD, ports), await hashPassword(PASSWORD, ports));
});

Deno.test("verifyPassword: accepts an Argon2id hash of the reference implementation", async () => {
  // `echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1 -l 32`, from the reference's tests.
  const phc = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ" +
    "$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
  assert.equal(await verifyPassword("password", phc, ports), true);
  assert.equal(await verifyPassword("passwort", phc, ports), false);
  assert.equal(needsRehash(phc, ports), true);
});

Deno.test("hashPassword: uses scrypt without Argon2id, which verifies anywhere", async () => {
  let phc = "";
  await withoutArgon2(async () => {
    const poorer = { ...ports, passwordCost: passwordCost() };
    phc = await hashPassword(PASSWORD, poorer);
    assert.match(phc, /^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.equal(await verifyPassword(PASSWORD, phc, poorer), true);
    assert.equal(needsRehash(phc, poorer), false);
  });
  assert.equal(await verifyPassword(PASSWORD, phc, ports), true);
  assert.equal(await verifyPassword("wrong horse", phc, ports), false);
  assert.equal(needsRehash(phc, ports), true);
});

Deno.test("verifyPassword: accepts scrypt hashes of other costs within the bounds", async () => {
  const salt = new Uint8Array(16).fill(1);
  const hash = scryptSync(PASSWORD, salt, 32, { N: 1024, r: 8, p: 1 });
  const text = (bytes: Uint8Array) => bytes.toBase64({ omitPadding: true });
  const phc = `$scrypt$ln=10,r=8,p=1$${text(salt)}$${text(new Uint8Array(hash))}`;
  assert.equal(await verifyPassword(PASSWORD, phc, ports), true);
  assert.equal(await verifyPassword("wrong horse", phc, ports), false);
});

Deno.test("verifyPassword: without a user it hashes at the same cost and returns false", async () => {
  const phc = await hashPassword(PASSWORD, ports);
  const costs: unknown[] = [];
  const deriveBits = crypto.subtle.deriveBits;
  crypto.subtle.deriveBits = function (algorithm, key, length) {
    const { nonce: _, ...cost } = algorithm as Algorithm & { nonce: unknown };
    costs.push({ ...cost, length });
    return deriveBits.call(crypto.subtle, algorithm, key, length);
  };
  try {
    assert.equal(await verifyPassword(PASSWORD, phc, ports), true);
    assert.equal(await verifyPassword(PASSWORD, null, ports), false);
    assert.equal(await verifyPassword("x".repeat(10_000), phc, ports), false);
  } finally {
    crypto.subtle.deriveBits = deriveBits;
  }
  assert.equal(costs.length, 3);
  assert.deepEqual(costs[1], costs[0]);
  assert.deepEqual(costs[2], costs[0]);
});

Deno.test("verifyPassword: without a user it returns false even for the dummy hash", async () => {
  await withHeldHashes(async (held) => {
    const answer = verifyPassword(PASSWORD, null, ports);
    while (held.length === 0) await turn();
    held[0]!.resolve(new ArrayBuffer(32));
    assert.equal(await answer, false);
  });
});

Deno.test("hashPassword: two encodings of one character are the same password", async () => {
  const phc = await hashPassword("pässwört\u00e9", ports);
  assert.equal(await verifyPassword("pässwört\u00e9".normalize("NFD"), phc, ports), true);
});

Deno.test("needsRehash: false for a fresh hash, true for another cost or salt length", async () => {
  const phc = await hashPassword(PASSWORD, ports);
  assert.equal(needsRehash(phc, ports), false);
  assert.equal(needsRehash(phc.replace("m=19456", "m=19455"), ports), true);
  assert.equal(needsRehash(phc.replace("t=2", "t=1"), ports), true);
  assert.equal(needsRehash(phc.replace("p=1", "p=2"), ports), true);
  assert.equal(needsRehash(phc.replace(/\$[^$]{22}\$/, "$AAAAAAAAAAAAAAAA$"), ports), true);
});

Deno.test("verifyPassword: an invalid or too expensive stored hash is an error", async () => {
  const salt = "A".repeat(22);
  const hash = "A".repeat(43);
  const broken = [
    "",
    "password",
    `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${hash}`,
    `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${hash}`,
    `$argon2id$v=19$m=999999,t=2,p=1$${salt}$${hash}`,
    `$argon2id$v=19$m=19456,t=99,p=1$${salt}$${hash}`,
    `$argon2id$v=19$m=19456,t=0,p=1$${salt}$${hash}`,
    `$argon2id$v=19$m=19456,t=2,p=9$${salt}$${hash}`,
    `$argon2id$v=19$m=19456,t=2,p=1$AAAA$${hash}`,
    `$argon2id$v=19$m=19456,t=2,p=1$${salt}$AAAA`,
    `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${hash}\n`,
    `$scrypt$ln=30,r=8,p=1$${salt}$${hash}`,
    `$scrypt$ln=15,r=99,p=1$${salt}$${hash}`,
    `$scrypt$ln=15,r=8,p=0$${salt}$${hash}`,
  ];
  for (const phc of broken) {
    await assert.rejects(verifyPassword(PASSWORD, phc, ports), { message: /cannot be read/ }, phc);
    assert.throws(() => needsRehash(phc, ports), { message: /cannot be read/ }, phc);
  }
});

Deno.test("passwords: two hashes run at once, 64 wait, the next is refused and can be retried", async () => {
  const phc = await hashPassword(PASSWORD, ports);
  await withHeldHashes(async (held) => {
    const answers = Array.from({ length: 66 }, () => verifyPassword(PASSWORD, phc, ports));
    await assert.rejects(
      verifyPassword(PASSWORD, phc, ports),
      (error) => error instanceof Fault && error.code === "UNAVAILABLE",
    );
    await assert.rejects(
      hashPassword(PASSWORD, ports),
      (error) => error instanceof Fault && error.code === "UNAVAILABLE",
    );
    for (let done = 0; done < 66; done++) {
      while (held.length < Math.min(done + 2, 66)) await turn();
      assert.equal(held.length, Math.min(done + 2, 66));
      held[done]!.resolve(new ArrayBuffer(32));
      assert.equal(await answers[done], false);
    }
  });
  assert.equal(await verifyPassword(PASSWORD, phc, ports), true);
});

Deno.test("passwordProblem: 8 to 256 characters, counted by code points", () => {
  for (const good of ["12345678", "x".repeat(256), "\ud83d\ude00".repeat(256), "        "]) {
    assert.equal(passwordProblem(good), null);
  }
  for (const short of ["", "1234567", "\ud83d\ude00".repeat(7)]) {
    assert.match(passwordProblem(short) ?? "", /at least 8/);
  }
  for (const long of ["x".repeat(257), "\ud83d\ude00".repeat(257), "x".repeat(1_000_000)]) {
    assert.match(passwordProblem(long) ?? "", /at most 256/);
  }
  assert.match(passwordProblem("broken \ud800 text") ?? "", /unpaired surrogates/);
});

Deno.test("hashPassword: refuses what passwordProblem refuses, without hashing", async () => {
  await withHeldHashes(async (held) => {
    for (const bad of ["short", "x".repeat(257)]) {
      await assert.rejects(
        hashPassword(bad, ports),
        (error) => error instanceof Fault && error.code === "VALIDATION_FAILED",
      );
    }
    assert.equal(held.length, 0);
  });
});
