import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Client } from "undici";

import { ResponseReader } from "../../core/ports/outbound/reader.ts";
import { type Random, random } from "../support/random.ts";

const SEED = Number(
  Deno.env.get("RELAY_ORACLE_SEED") ?? crypto.getRandomValues(new Uint32Array(1)),
);
/** Generated responses; `deno task test:fuzz` reads 10,000. */
const RESPONSES = Number(Deno.env.get("RELAY_ORACLE_RESPONSES") ?? 2_000);
const KEEP_BYTES = 64 * 1024;

/** What the relay reads and undici refuses: the receiver got the request, so its status counts. */
const MORE_LENIENT: Readonly<Record<string, RegExp>> = {
  "a length beside chunks":
    /content-length:[^]*transfer-encoding:|transfer-encoding:[^]*content-length:/i,
};

/** A status and a body, or null where the reader refuses the response or finds it cut off. */
type Reading = { readonly status: number; readonly body: string } | null;

const latin1 = (text: string) => Buffer.from(text, "latin1");

function readByRelay(pieces: readonly string[]): Reading {
  const reader = new ResponseReader("POST", KEEP_BYTES);
  try {
    for (const piece of pieces) reader.take(latin1(piece));
  } catch {
    return null;
  }
  reader.end();
  if (!reader.isWhole) return null;
  return { status: reader.status, body: Buffer.from(reader.bytes).toString("latin1") };
}

async function readByUndici(port: number): Promise<Reading> {
  const client = new Client(`http://127.0.0.1:${port}`);
  try {
    const { statusCode, body } = await client.request({ path: "/", method: "POST", body: "" });
    return { status: statusCode, body: Buffer.from(await body.bytes()).toString("latin1") };
  } catch {
    return null;
  } finally {
    await client.destroy();
  }
}

const STATUS_LINES = [
  "HTTP/1.1 200 OK",
  "HTTP/1.1 200 ",
  "HTTP/1.1 201 Created",
  "HTTP/1.1 404 Not Found",
  "HTTP/1.1 503 \u00e9",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 20 OK",
  "HTTP/1.1 2000 OK",
  "HTTP/2.0 200 OK",
  "http/1.1 200 OK",
  "HTTP/1.1  200 OK",
];
const FIELDS = [
  "x-a: 1",
  "X-A:2",
  "x-empty:",
  "x-tab:\tb\t",
  "x-latin: \u00e9",
  "connection: close",
  "connection: keep-alive, x",
  "keep-alive: timeout=5",
  "set-cookie: a=1",
  "x y: 1",
  "x-space : 1",
  ": 1",
  "no colon",
  " folded",
  "x-nul: \0",
];
const CODINGS = ["chunked", "Chunked", "gzip, chunked", "identity", "chunked, chunked", "xchunked"];

/** A response as a sender may write it: mostly sound, sometimes with a fault. */
function generate(dice: Random): string {
  const text = Array.from(
    { length: dice.below(40) },
    () => String.fromCharCode(dice.below(256)),
  ).join("");
  const informational = dice.chance(0.1) ? "HTTP/1.1 103 Early Hints\r\nx-h: 1\r\n\r\n" : "";
  const sound = dice.chance(0.8);
  const status = dice.pick(sound ? STATUS_LINES.slice(0, 5) : STATUS_LINES);
  const fields = Array.from(
    { length: dice.below(4) },
    () => dice.pick(sound ? FIELDS.slice(0, 9) : FIELDS),
  );
  let body = text;
  const framing = dice.below(sound ? 3 : 6);
  if (framing === 0) fields.push(`Content-Length: ${text.length}`);
  else if (framing === 1) {
    fields.push(`transfer-encoding: ${sound ? "chunked" : dice.pick(CODINGS)}`);
    body = chunks(dice, text, sound);
  } else if (framing === 3) {
    fields.push(
      `content-length: ${
        dice.pick(["+1", "-1", "0x2", "1e1", "", "1, 1", "99999999999999999999"])
      }`,
    );
  } else if (framing === 4) {
    fields.push(`content-length: ${text.length}`, `content-length: ${text.length + dice.below(2)}`);
  } else if (framing === 5) {
    fields.push(`content-length: ${text.length}`, "transfer-encoding: chunked");
    body = chunks(dice, text, true);
  }
  const head = dice.shuffle(fields).map((field) => `${field}\r\n`).join("");
  const whole = `${informational}${status}\r\n${head}\r\n${body}`;
  return dice.chance(0.1) ? whole.slice(0, dice.below(whole.length)) : whole;
}

function chunks(dice: Random, text: string, sound: boolean): string {
  let out = "";
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + 1 + dice.below(16));
    const size = piece.length.toString(16);
    const padded = dice.pick(["", "0"]) + (dice.chance(0.5) ? size.toUpperCase() : size);
    out += `${padded}${dice.pick(["", ";a", ";a=b"])}\r\n${piece}\r\n`;
    at += piece.length;
  }
  const last = sound ? "0\r\n" : dice.pick(["0\r\n", "-0\r\n", "\r\n", "0 x\r\n", "0\n"]);
  return `${out}${last}${dice.pick(["", "x-sum: 1\r\n"])}\r\n`;
}

/** The text in up to four pieces. */
function cut(dice: Random, text: string): string[] {
  const cuts = [
    0,
    ...Array.from({ length: dice.below(4) }, () => dice.below(text.length + 1)),
    text.length,
  ]
    .toSorted((a, b) => a - b);
  return cuts.slice(1).map((end, index) => text.slice(cuts[index]!, end));
}

Deno.test(`ResponseReader: reads every response that it accepts as undici does (seed ${SEED})`, async () => {
  const dice = random(SEED);
  let sending: readonly string[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const answer = async (connection: Deno.Conn) => {
    await connection.read(new Uint8Array(4096));
    for (const piece of sending) await connection.write(latin1(piece)).catch(() => 0);
    connection.close();
  };
  const answered = (async () => {
    for await (const connection of listener) await answer(connection);
  })();
  const counts = { both: 0, neither: 0, "only undici": 0 };
  for (let round = 0; round < RESPONSES; round++) {
    const text = generate(dice);
    sending = cut(dice, text).filter((piece) => piece !== "");
    const relay = readByRelay(sending);
    const undici = await readByUndici(port);
    const lenient = Object.values(MORE_LENIENT).some((shape) => shape.test(text));
    if (relay !== null && !(lenient && undici === null)) {
      assert.deepEqual(relay, undici, `seed ${SEED}, ${JSON.stringify(text)}`);
    }
    counts[relay !== null ? "both" : undici === null ? "neither" : "only undici"]++;
  }
  listener.close();
  await answered;
  console.log(`${RESPONSES} responses, seed ${SEED}:`, counts);
  assert.ok(counts.both > RESPONSES / 4 && counts.neither > 0);
});
