import { ok, strictEqual as eq } from "node:assert/strict";
import { examineAgain } from "../../core/commands/guard/remember.ts";

Deno.test("examineAgain: a short line is cached, unless it expands to much more", () => {
  const short = "ls -la /srv/remembered";
  eq(examineAgain(short), examineAgain(short));
  const growing = `a=${"x".repeat(64)};${"a=$a$a;".repeat(11)}echo $a > y`;
  ok(growing.length < 200);
  ok(examineAgain(growing).expandedChars > 100_000);
  ok(examineAgain(growing) !== examineAgain(growing));
});
