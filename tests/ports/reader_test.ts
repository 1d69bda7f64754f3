import assert from "node:assert/strict";
import { Buffer } from "node:buffer";

import { ResponseReader } from "../../core/ports/outbound/reader.ts";

const KEEP_BYTES = 64;

/** What a reader makes of these pieces, and of the end of the connection after them. */
function read(pieces: readonly string[], { method = "POST", ends = false } = {}) {
  const reader = new ResponseReader(method, KEEP_BYTES);
  for (const piece of pieces) reader.take(Buffer.from(piece, "latin1"));
  if (ends) reader.end();
  return {
    status: reader.status,
    headers: { ...reader.headers },
    body: Buffer.from(reader.bytes).toString("latin1"),
    isWhole: reader.isWhole,
    isReusable: reader.isReusable,
    overflows: reader.overflows,
  };
}

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" +
  "5;a=b\r\nhello\r\n1\r\n,\r\n6\r\n world\r\n0\r\nx-sum: 1\r\nx-more: 2\r\n\r\n";

/** Responses and the body that each has; `null` for what needs the end of the connection. */
const WHOLE: Readonly<Record<string, readonly [text: string, body: string, reusable: boolean]>> = {
  "a length": ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok", true],
  "no reason phrase": ["HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", "", true],
  "an unknown status": ["HTTP/1.1 999 No\r\ncontent-length:2\r\n\r\nno", "no", true],
  "chunks, extensions and trailers": [CHUNKED, "hello, world", true],
  "no body by its status": ["HTTP/1.1 204 X\r\ncontent-length: 9\r\n\r\n", "", true],
  "informational ones before it": [
    "HTTP/1.1 100 C\r\nx: 1\r\n\r\nHTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 X\r\ncontent-length: 1\r\n\r\n1",
    "1",
    true,
  ],
  "a wish to close": [
    "HTTP/1.1 200 X\r\nconnection: x, Close\r\ncontent-length: 1\r\n\r\n1",
    "1",
    false,
  ],
  "chunks in an old version": [
    "HTTP/1.0 200 X\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "a",
    false,
  ],
  "an old version": ["HTTP/1.0 200 X\r\ncontent-length: 1\r\n\r\n1", "1", false],
  "an old version that stays": [
    "HTTP/1.0 200 X\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\n1",
    "1",
    true,
  ],
  "both framings": [
    "HTTP/1.1 200 X\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "a",
    false,
  ],
};

for (const [name, [text, body, reusable]] of Object.entries(WHOLE)) {
  Deno.test(`ResponseReader: a response with ${name} is whole, wherever it is cut`, () => {
    const whole = read([text]);
    assert.deepEqual([whole.isWhole, whole.body, whole.isReusable], [true, body, reusable]);
    assert.deepEqual(read([...text]), whole);
    for (let at = 1; at < text.length; at++) {
      assert.equal(read([text.slice(0, at)]).isWhole, false);
      assert.deepEqual(read([text.slice(0, at), text.slice(at)]), whole);
    }
  });
}

Deno.test("ResponseReader: bytes after a response are not read, and end the use of the connection", () => {
  for (const [text] of Object.values(WHOLE)) {
    const { isWhole, isReusable, status } = read([`${text}HTTP/1.1 500 X\r\n`]);
    assert.deepEqual([isWhole, isReusable, status === 500], [true, false, false]);
  }
});

Deno.test("ResponseReader: a body without a length is whole when the connection ends", () => {
  const text = "HTTP/1.1 200 OK\r\n\r\nuntil the end";
  assert.equal(read([text]).isWhole, false);
  const { isWhole, isReusable, body } = read([text], { ends: true });
  assert.deepEqual([isWhole, isReusable, body], [true, false, "until the end"]);
  for (const short of ["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", CHUNKED.slice(0, 70)]) {
    assert.equal(read([short], { ends: true }).isWhole, false);
  }
});

Deno.test("ResponseReader: the response to HEAD has no body, whatever its headers say", () => {
  const { isWhole, isReusable } = read(["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"], {
    method: "HEAD",
  });
  assert.deepEqual([isWhole, isReusable], [true, true]);
});

Deno.test("ResponseReader: joins headers by name, and drops those of informational heads", () => {
  const { headers } = read([
    "HTTP/1.1 103 E\r\nearly: 1\r\n\r\nHTTP/1.1 204 X\r\nA:  1 \t\r\na: 2\r\n__proto__: x\r\nb:\r\n\r\n",
  ]);
  assert.deepEqual(Object.entries(headers), [["a", "1, 2"], ["__proto__", "x"], ["b", ""]]);
});

Deno.test("ResponseReader: keeps no more than requested", () => {
  const text = `HTTP/1.1 200 OK\r\n\r\n${"a".repeat(KEEP_BYTES)}`;
  assert.equal(read([text]).overflows, false);
  const { overflows, isWhole, body } = read([text, "a"]);
  assert.deepEqual([overflows, isWhole, body.length], [true, false, KEEP_BYTES]);
});

Deno.test("ResponseReader: keeps a copy, so that a small piece does not retain its buffer", () => {
  const reader = new ResponseReader("POST", KEEP_BYTES);
  reader.take(Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"));
  for (const letter of "abc") {
    const piece = Buffer.from(`1;${"x".repeat(10_000)}\r\n${letter}\r\n`);
    reader.take(piece);
    piece.fill(0);
  }
  assert.equal(Buffer.from(reader.bytes).toString(), "abc");
});

Deno.test("ResponseReader: reads a header in time linear in its length", () => {
  for (const filling of [" ", "\t", ",", " ,", "x"]) {
    const value = `x${filling.repeat(16_000 / filling.length)}x`;
    const text = `HTTP/1.1 200 OK\r\nconnection: ${value}\r\ncontent-length: 0\r\n\r\n`;
    // One that is read in time that grows with the square takes a second, and this five minutes.
    for (let n = 0; n < 100; n++) assert.equal(read([text]).isWhole, true);
  }
});

/** Invalid beginnings of responses. */
const REFUSED: Readonly<Record<string, string>> = {
  "another protocol": "SSH-2.0-x\r\n",
  "another version": "HTTP/2.0 200 OK\r\n",
  "an invalid status": "HTTP/1.1 20 OK\r\n",
  "a folded header": "HTTP/1.1 200 OK\r\na: 1\r\n b\r\n",
  "a space before the colon": "HTTP/1.1 200 OK\r\na : 1\r\n",
  "no colon": "HTTP/1.1 200 OK\r\nabc\r\n",
  "a line feed alone": "HTTP/1.1 200 OK\r\na: 1\nb: 2\r\n",
  "a carriage return alone": "HTTP/1.1 200 OK\r\na: 1\rb: 2\r\n",
  "a zero byte": "HTTP/1.1 200 OK\r\na: \0\r\n",
  "a switch of protocols": "HTTP/1.1 101 X\r\n\r\n",
  "two lengths": "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n",
  "a negative length": "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
  "an unsafely large length": `HTTP/1.1 200 OK\r\ncontent-length: ${"9".repeat(16)}\r\n\r\n`,
  "an unknown transfer coding": "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
  "an invalid chunk size": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
  "an oversized chunk size": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n100000000\r\n",
  "a chunk longer than it says":
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
  "an endless line": `HTTP/1.1 200 OK\r\na: ${"b".repeat(20_000)}`,
  "an endless head": `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(5_000)}`,
  "an endless run of informational heads": "HTTP/1.1 100 C\r\n\r\n".repeat(2_000),
  "an endless trailer": `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${
    "a: b\r\n".repeat(5_000)
  }`,
  "an endless chunk size": `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${
    "x".repeat(20_000)
  }`,
};

for (const [name, text] of Object.entries(REFUSED)) {
  Deno.test(`ResponseReader: ${name} is refused`, () => {
    assert.throws(() => read([text]));
    assert.throws(() => read([...text]));
  });
}
