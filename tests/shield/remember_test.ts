import { ok, strictEqual as eq } from "node:assert/strict";
import { cachedExamination } from "../../core/agents/guard/examination_cache.ts";

Deno.test("cachedExamination: a short line is cached unless its expansion is long", () => {
  const short = "ls -la /srv/remembered";
  eq(cachedExamination(short), cachedExamination(short));
  const growing = `a=${"x".repeat(64)};${"a=$a$a;".repeat(11)}echo $a > y`;
  ok(growing.length < 200);
  ok(cachedExamination(growing).expandedChars > 100_000);
  ok(cachedExamination(growing) !== cachedExamination(growing));
});
