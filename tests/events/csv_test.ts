import assert from "node:assert/strict";

import { csvRow } from "../../core/events/trail/csv.ts";
import { random } from "../support/random.ts";

Deno.test("csvRow: plain fields are joined by commas and end with CRLF", () => {
  assert.equal(
    csvRow(["a", 1, -2.5, true, false, null, "", "b c"]),
    "a,1,-2.5,true,false,,,b c\r\n",
  );
  assert.equal(csvRow([]), "\r\n");
});

Deno.test("csvRow: commas, quotes and line ends are quoted, quotes doubled", () => {
  assert.equal(
    csvRow(["a,b", 'say "hi"', "two\r\nlines", "one\nline", "cr\rcr", '"']),
    [
      '"a,b"',
      '"say ""hi"""',
      '"two\r\nlines"',
      '"one\nline"',
      '"cr\rcr"',
      '""""',
    ].join(",") + "\r\n",
  );
});

Deno.test("csvRow: a text that begins like a formula gets a leading quote, a number does not", () => {
  for (const start of ["=", "+", "-", "@", "\t", "＝", "＋", "－", "＠"]) {
    assert.equal(csvRow([`${start}1+1`]), `'${start}1+1\r\n`);
  }
  for (const start of ["\r", "\n"]) assert.equal(csvRow([`${start}=1`]), `"'${start}'=1"\r\n`);
  assert.equal(csvRow(['=HYPERLINK("http://x",1)']), `"'=HYPERLINK(""http://x"",1)"\r\n`);
  assert.equal(csvRow([-1, "a=1", "a-b"]), "-1,a=1,a-b\r\n");
});

Deno.test("csvRow: a spreadsheet that splits cells at semicolons, tabs or line ends runs nothing either", () => {
  for (const part of [";", "\t", "\n", "\r", "\r\n", '";', '"\n', ";;", "\t;", "; ", ";\u00a0"]) {
    for (const start of ["=", "+", "-", "@", "＝", "＋", "－", "＠"]) {
      for (
        const text of [`a${part}${start}cmd|'/C calc'!A0${part}b`, `{"a":"b${part}${start}1"}`]
      ) {
        const line = csvRow(["org", text, "c"]);
        // The cells that a reader with this separator sees, whether or not it interprets quotes.
        for (const reader of [line, line.replaceAll('"', "")]) {
          for (const cell of reader.split(/[;\t\r\n]/)) {
            assert.ok(!/^[\s"]*[=+\-@＝＋－＠]/.test(cell), JSON.stringify(line));
          }
        }
      }
    }
  }
  assert.equal(csvRow(["a;b", "x;y=1", "ls; pwd", "a -b"]), "a;b,x;y=1,ls; pwd,a -b\r\n");
});

Deno.test("csvRow: an RFC 4180 reader restores every text that no spreadsheet would run", () => {
  const dice = random(4180);
  const parts = ["a", ",", '"', "\r", "\n", " ", ";", "é", "\ud83d\ude00"];
  for (let round = 0; round < 500; round++) {
    const text = () => "x" + Array.from({ length: dice.below(6) }, () => dice.pick(parts)).join("");
    const fields = [text(), text(), text()];
    assert.deepEqual(readRow(csvRow(fields)), fields, `seed ${dice.seed}, round ${round}`);
  }
});

/** One line of the RFC 4180 grammar. */
function readRow(line: string): string[] {
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n$)/y;
  for (let match = field.exec(line); match !== null; match = field.exec(line)) {
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] !== ",") break;
  }
  assert.equal(field.lastIndex, line.length, JSON.stringify(line));
  return fields;
}
