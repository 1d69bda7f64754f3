import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { labelChanges } from "../../../core/cli/remote/labels.ts";
import { World } from "../../support/world.ts";
import { machineThat } from "./machine.ts";
import { withTerminal } from "./terminal.ts";

const MINUTE_MS = 60_000;

Deno.test("relay pair: -q prints the line and the id of the agent, which has the labels of the code", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async ({ run }) => {
    const env = { RELAY_TOKEN: owner.token, RELAY_URL: "wss://relay.example/ws" };
    const follow = machineThat(world);
    const line = ["pair", "-l", "env=prod", "-q"];
    const { code, out, err } = await run(line, { env, sawOut: (text) => void follow(text) });
    deq([code, err], [0, ""]);
    const [said, id] = out.trimEnd().split("\n");
    match(said!, /^relay agent pair --url https:\/\/relay\.example --code \S{19} && relay agent$/);
    const { body } = await world.call("GET", `/api/v1/agents/${id}`, { as: owner.token });
    deq([body.name, body.relay_labels], ["box", { env: "prod" }]);
  });
});

Deno.test("relay pair: it ends when the code expires, and says what is left to do", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async ({ run }) => {
    const env = { RELAY_TOKEN: owner.token };
    const sleep = () => world.advance(MINUTE_MS);
    const { code, err } = await run(["pair"], { env, sleep });
    eq(code, 1);
    match(err, /Another machine needs the relay's own address in place of http:\/\/127\.0\.0\.1/);
    match(err, /No machine was paired in time\. Make a new code: relay pair\n$/);
    const half = await run(["pair"], {
      env,
      sleep,
      async sawOut(text) {
        const [, pairing_code] = /--code (\S+)/.exec(text)!;
        const device = { device_name: "vm", pairing_code };
        const { body } = await world.call("POST", "/api/devices/pair", { body: device });
        const { device_id, token } = body;
        await world.call("POST", "/api/devices/confirm", { body: { device_id, token } });
      },
    });
    eq(half.code, 1);
    match(half.err, /The machine is paired as vm\. Start its agent there: relay agent\n$/);
  });
});

Deno.test("relay pair: Ctrl-C ends the waiting and leaves the code valid", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async ({ run }) => {
    let [interrupt, code] = [() => {}, ""];
    const printed = await run(["pair"], {
      env: { RELAY_TOKEN: owner.token },
      onInterrupt: (end) => interrupt = end,
      sawOut: (text) => code ||= /--code (\S+)/.exec(text)?.[1] ?? "",
      sleep: () => Promise.resolve(interrupt()),
    });
    eq(printed.code, 130);
    match(printed.err, /The code stays valid until 2030-01-01T00:10:00\.000Z\.\n$/);
    const body = { device_name: "vm", pairing_code: code };
    eq((await world.call("POST", "/api/devices/pair", { body })).status, 201);
  });
});

Deno.test("labelChanges: key=value sets a label, key- removes one, and a value may end in a minus", () => {
  deq(labelChanges(["env=prod", "rack-", "a=b=c", "x=-", "a-b-"]), {
    env: "prod",
    rack: null,
    a: "b=c",
    x: "-",
    "a-b": null,
  });
});
