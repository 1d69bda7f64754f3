import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { CHARS_MAX, LINES_MAX, OutputBuffer } from "../../console/app/output_buffer.ts";
import {
  nameOf,
  NOBODY,
  sizeOf,
  type Target,
  withAgent,
  withoutAgent,
  withoutLast,
} from "../../console/app/screens/work/run/target.ts";
import type { Agent } from "../../core/client/client.ts";

const shown = ({ blocks }: OutputBuffer) => blocks.map(({ source, text }) => [source, text]);

/** What a command wrote to one stream, as it is shown. */
function linesOf(...chunks: readonly string[]): string {
  const buffer = new OutputBuffer();
  for (const chunk of chunks) buffer.add("stdout", chunk);
  buffer.end();
  return buffer.blocks.map(({ text }) => text).join("\n");
}

Deno.test("OutputBuffer: escape sequences are gone, and other unseen characters are marked", () => {
  const cases: readonly (readonly [written: string, text: string])[] = [
    ["\x1b[31mred\x1b[0m", "red"],
    ["\x1b[2J\x1b[1;1Hhome", "home"],
    ["\x9b31mred", "red"],
    ["\x1b]0;title\x07text", "text"],
    ["\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"],
    ["\x1bP1$r\x1b\\text", "text"],
    ["\x1b(Btext\x1b=\x1b7", "text"],
    // A string never hides a second line.
    ["\x1b]0;title\nrm -rf /\x07", "\ufffd]0;title\nrm -rf /\ufffd"],
    ["a\u202eb\u200bc\u2028d\x00e\x7f", "a\ufffdb\ufffdc\ufffdd\ufffde\ufffd"],
    ["tab\there", "tab\there"],
    ["<script>alert(1)</script>", "<script>alert(1)</script>"],
    // A carriage return hides nothing.
    ["evil\rgood", "evil\ngood"],
    ["one\r\ntwo\r\n", "one\ntwo"],
    ["10%\r20%\r", "10%\n20%"],
    ["end\x1b", "end\ufffd"],
  ];
  for (const [written, text] of cases) eq(linesOf(written), text, JSON.stringify(written));
});

Deno.test("OutputBuffer: it does not matter where a text is cut into chunks", () => {
  const text = "a\x1b[31mb\r\nc\rd\x1b]0;t\x07e\n\n\x1b(Bf\tg\u202e\x9b1mh\n";
  const whole = linesOf(text);
  for (let at = 0; at <= text.length; at++) {
    eq(linesOf(text.slice(0, at), text.slice(at)), whole, `${at}`);
  }
  eq(linesOf(...text), whole);
});

Deno.test("OutputBuffer: lines of both streams keep their order", () => {
  const buffer = new OutputBuffer();
  buffer.add("stdout", "one\ntwo");
  buffer.add("stderr", "bad\n");
  buffer.add("stdout", " more\n");
  buffer.add("stdout", "three\n");
  deq(shown(buffer), [["stdout", "one\ntwo"], ["stderr", "bad"], ["stdout", " more\nthree"]]);
});

Deno.test("OutputBuffer: it keeps the last lines within its limits, and counts the others", () => {
  for (const long of [1, 100, 5_000]) {
    const buffer = new OutputBuffer();
    const lines = Array.from(
      { length: 20_000 },
      (_, n) => `${n} ${"x".repeat(n * 7_919 % long)}`,
    );
    for (const line of lines) buffer.add("stdout", `${line}\n`);
    const kept = buffer.blocks.flatMap(({ text }) => text.split("\n"));
    deq(kept, lines.slice(-kept.length), `${long}`);
    eq(buffer.dropped, lines.length - kept.length, `${long}`);
    eq(kept.length <= LINES_MAX, true, `${long}`);
    eq(kept.join("\n").length <= CHARS_MAX, true, `${long}`);
    eq(kept.length > LINES_MAX - 200 || kept.join("\n").length > CHARS_MAX / 2, true, `${long}`);
  }
});

Deno.test("OutputBuffer: one endless line stays within the limit", () => {
  const buffer = new OutputBuffer();
  for (let n = 0; n < 200; n++) buffer.add("stdout", `${n} `.padEnd(64 * 1024, "y"));
  const chars = buffer.blocks.reduce((sum, { text }) => sum + text.length, 0);
  eq(chars <= CHARS_MAX + 64 * 1024, true, `${chars}`);
  eq(buffer.blocks.at(-1)!.text.includes("199 "), true);
});

const agent = (name: string) => ({ id: `agt_${name}`, name }) as Agent;

Deno.test("run: agents are picked one by one, each once, and replace labels", () => {
  const [web, db] = [agent("web"), agent("db")];
  const picked = [web, db, web].reduce(withAgent, NOBODY);
  deq([nameOf(picked), sizeOf(picked)], ["db, web", 2]);
  deq(nameOf(withoutAgent(picked, db.id)), "web");
  deq(nameOf(withoutLast(picked)), "db");
  const labels: Target = { kind: "labels", labels: { env: "prod", tier: "web" }, total: 7 };
  deq([nameOf(labels), sizeOf(labels)], ["7 agents with env=prod tier=web", 7]);
  deq(nameOf(withAgent(labels, web)), "web");
  deq([withoutAgent(labels, web.id), withoutLast(labels)], [NOBODY, NOBODY]);
  deq(nameOf(["a", "b", "c", "d"].map(agent).reduce(withAgent, NOBODY)), "4 agents");
});
