import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { installed } from "../delivery/integrations/fixtures.ts";
import { ManualClock } from "../support/clock.ts";
import { pair } from "./pair.ts";

const DANGEROUS = ["rm -rf /", "rm -rf /etc", "rm -rf /usr"];

/** Two instances whose runners send messages about denied commands over one network. */
async function messages(clock?: ManualClock) {
  const cluster = await pair({ ...(clock && { clock }) });
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
  /** Lets runners start what they may, while requests are under way. */
  const run = async (worlds = [one, two]) => {
    for (let round = 0; round < 10; round++) {
      for (const world of worlds) {
        await world.app.log.flush();
        world.app.integrations.sweep();
        await world.quiet();
      }
    }
  };
  /** Asks for commands that are denied, and lets runners stage the messages. */
  const deny = async (commands: readonly string[], worlds = [one, two]) => {
    for (const command of commands) {
      const path = `/api/exec/${agent.id}?command=${encodeURIComponent(command)}`;
      eq((await one.call("GET", path, { as: owner.token })).status, 403);
    }
    await run(worlds);
  };
  return {
    one,
    two,
    deny,
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
  const { begun, deny, texts, run } = cluster;
  await deny(DANGEROUS);
  for (let sent = 1; sent <= DANGEROUS.length; sent++) {
    deq(texts, DANGEROUS.slice(0, sent));
    begun.at(-1)!();
    await run();
  }
  eq(begun.length, DANGEROUS.length);
});

Deno.test("instances: a message whose instance died is sent again before the next one", async () => {
  await using cluster = await messages();
  const { begun, deny, texts, run, two } = cluster;
  await deny(DANGEROUS);
  two.clock.advance(30_000);
  await run();
  deq(texts, [DANGEROUS[0], DANGEROUS[0]]);
  for (let at = 0; at < begun.length; at++) {
    begun[at]!();
    await run();
  }
  deq(texts.slice(2), DANGEROUS.slice(1));
});

const APART_MS = 4 * 60_000;

Deno.test("instances: messages are sent in the order of their events, whatever the clocks and the ids say", async () => {
  await using cluster = await messages(new ManualClock());
  const { begun, deny, one, run, texts, two } = cluster;
  two.clock.nowMs += APART_MS;
  let ids = 1_000;
  for (const { app: { ports } } of [one, two]) {
    const id = (prefix: string) => `${prefix}_${--ids}`;
    Object.assign(ports, { entropy: { ...ports.entropy, id } });
  }
  await deny(DANGEROUS.slice(0, 2), [two]);
  await deny(DANGEROUS.slice(2), [one]);
  for (let at = 0; at < begun.length; at++) {
    begun[at]!();
    await run();
  }
  deq(texts, DANGEROUS);
});
