import assert from "node:assert/strict";
import { cutOutput, type Stream } from "../../core/cli/agent/commands/output.ts";
import { MAX_OUTPUT_CHUNK_BYTES } from "../../core/protocol/protocol.ts";

const encoder = new TextEncoder();

/** A small generator of repeatable numbers in [0, 1): mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function collect(maxBytes: number) {
  const pieces: { stream: Stream; data: string }[] = [];
  const cutter = cutOutput(maxBytes, (stream, data) => pieces.push({ stream, data }));
  const text = (stream: Stream, tail: string) =>
    pieces.filter((piece) => piece.stream === stream).map(({ data }) => data).join("") + tail;
  return { pieces, cutter, text };
}

Deno.test("cutOutput: splits and loses no character, however the bytes arrive", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seeded(seed);
    const letters = ["a", "é", "€", "😀", "\u0000", "\ufeff"];
    let text = "";
    for (let i = random() * 60_000; i > 0; i--) {
      text += letters[Math.floor(random() * letters.length)];
    }
    const bytes = encoder.encode(text);
    const { pieces, cutter, text: whole } = collect(1_000_000);
    for (let at = 0; at < bytes.length;) {
      const next = at + 1 + Math.floor(random() * 30_000);
      cutter.feed("stdout", bytes.subarray(at, next));
      if (random() < 0.2) cutter.flush();
      at = next;
    }
    const tails = cutter.finish();
    assert.equal(whole("stdout", tails.stdout), text, `seed ${seed}`);
    assert.equal(tails.stderr, "");
    assert.equal(cutter.truncated, false);
    for (const data of [...pieces.map((piece) => piece.data), tails.stdout]) {
      assert.ok(encoder.encode(data).length <= MAX_OUTPUT_CHUNK_BYTES, `seed ${seed}`);
    }
  }
});

Deno.test("cutOutput: keeps the first bytes of both streams together, and reports truncation", () => {
  for (let maxBytes = 0; maxBytes <= 12; maxBytes++) {
    const { cutter } = collect(maxBytes);
    cutter.feed("stdout", encoder.encode("a€"));
    cutter.feed("stderr", encoder.encode("😀b"));
    const { stdout, stderr } = cutter.finish();
    assert.ok(encoder.encode(stdout + stderr).length <= maxBytes);
    assert.ok("a€".startsWith(stdout) && "😀b".startsWith(stderr));
    assert.equal(cutter.truncated, maxBytes < 9, `${maxBytes} bytes`);
  }
});

Deno.test("cutOutput: bytes that are not UTF-8 become the replacement character, within the cap", () => {
  const { pieces, cutter, text } = collect(100_000);
  cutter.feed("stdout", new Uint8Array(20_000).fill(0xff));
  const tails = cutter.finish();
  assert.equal(text("stdout", tails.stdout), "\ufffd".repeat(20_000));
  for (const { data } of pieces) {
    assert.ok(encoder.encode(data).length <= MAX_OUTPUT_CHUNK_BYTES);
  }
});
