import { deepStrictEqual as deq } from "node:assert/strict";
import { isInstalled } from "../../support/processes.ts";
import { CHECKS, RUN } from "../table.ts";
import { WALKS } from "./walks.ts";
import { LiveWorld, Walk } from "./world.ts";

Deno.test({
  name: "docs/: the blocks of the guides work on a relay with agents (needs curl and jq)",
  ignore: !["curl", "jq"].every((program) => isInstalled(program)),
  async fn(t) {
    await using world = await LiveWorld.open();
    for (const [page, go] of Object.entries(WALKS)) {
      await t.step(`docs/${page}`, async () => {
        const walk = new Walk(world, page);
        await go(walk);
        const expected = CHECKS.filter(([of, , check]) => of === page && check === RUN);
        deq([...walk.taken].sort(), expected.map(([, part]) => part).sort());
      });
    }
  },
});
