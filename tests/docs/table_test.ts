import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { BLOCKS } from "./blocks.ts";
import { WALKS } from "./live/walks.ts";
import { CHECKS, RUN } from "./table.ts";

const ROOT = new URL("../../", import.meta.url);
const rowsOf = (page: string, text: string) =>
  CHECKS.filter(([of, part]) => of === page && text.includes(part));

Deno.test("docs/: every block of a page is in exactly one row of the table of checks", () => {
  const wrong = BLOCKS.filter(({ generated }) => !generated)
    .map(({ page, line, text }) => [`docs/${page}:${line}`, rowsOf(page, text).length])
    .filter(([, rows]) => rows !== 1);
  deq(wrong, [], "add a row to tests/docs/table.ts");
});

Deno.test("docs/: every row of the table of checks has a block", () => {
  const stale = CHECKS.filter(([page, part]) =>
    !BLOCKS.some((block) => block.page === page && !block.generated && block.text.includes(part))
  );
  deq(stale, []);
});

Deno.test("docs/: a block that is run has a walk over its page, and another's test names the page", () => {
  for (const [page, part, check] of CHECKS) {
    if (check === RUN) ok(Object.hasOwn(WALKS, page), page);
    else if (typeof check === "string") {
      const file = new URL(check, ROOT);
      ok(
        existsSync(file) && readFileSync(file, "utf8").includes(page),
        `${page}, ${part}: ${check}`,
      );
    } else ok(check.reason.length > 0);
  }
});
