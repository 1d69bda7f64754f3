import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { installed } from "../delivery/integrations/fixtures.ts";
import { pair } from "./pair.ts";

const DANGEROUS = ["rm -rf /", "rm -rf /etc", "rm -rf /usr"];

/** Two instances whose runners send messages about denied commands over one network. */
async function messages() {
  const cluster = await pair();
  const { one, two, owner, agent } = cluster;
  await installed(one, owner, "slack", { webhook_url: "https://hooks.example.com/x" });
  const begun: (() => void)[] = [], texts: string[] = [];
  for (const { network } of [one, two]) {
    network.reply = async ({ body }) => {
      texts.push(DANGEROUS.findLast((command) => String(body).includes(command))!);
      await new Promise<void>((resolve) => begun.push(resolve));
      return 204;
    };
  }
  /** Lets both runners start what they may, while requests are under way. */
  const run = async () => {
    for (let round = 0; round < 10; round++) {
      for (const world of [one, two]) {
        await world.app.log.flush();
        world.app.integrations.sweep();
        await world.quiet();
      }
    }
  };
  for (const command of DANGEROUS) {
    const path = `/api/exec/${agent.id}?command=${encodeURIComponent(command)}`;
    eq((await one.call("GET", path, { as: owner.token })).status, 403);
  }
  await run();
  return {
    two,
    begun,
    texts,
    run,
    async [Symbol.asyncDispose]() {
      for (const { network } of [one, two]) network.reply = () => 204;
      for (const answer of begun) answer();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

Deno.test("instances: an integration's messages go out one after another, whichever instance sends them", async () => {
  await using cluster = await messages();
  const { begun, texts, run } = cluster;
  for (let sent = 1; sent <= DANGEROUS.length; sent++) {
    deq(texts, DANGEROUS.slice(0, sent));
    begun.at(-1)!();
    await run();
  }
  eq(begun.length, DANGEROUS.length);
});

Deno.test("instances: a message whose instance died is sent again before the next one", async () => {
  await using cluster = await messages();
  const { begun, texts, run, two } = cluster;
  two.clock.advance(30_000);
  await run();
  deq(texts, [DANGEROUS[0], DANGEROUS[0]]);
  for (let at = 0; at < begun.length; at++) {
    begun[at]!();
    await run();
  }
  deq(texts.slice(2), DANGEROUS.slice(1));
});
