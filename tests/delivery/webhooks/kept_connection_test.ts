import { deepStrictEqual as deq } from "node:assert/strict";
import { safeOutbound } from "../../../core/ports/outbound/safe_outbound.ts";
import { deliveriesOf, makeHook } from "../../support/linked_agent.ts";
import { handClock } from "../../ports/hand_clock.ts";
import { reply, startReceiver } from "../../ports/receiver.ts";
import { World } from "../../support/world.ts";

Deno.test("attempt: a receiver that closes a kept-alive connection gets the delivery in the same attempt", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["command_denied"]);
  await using receiver = startReceiver((line) =>
    receiver.heard.length === 2 ? line.close() : line.write(reply(204))
  );
  const outbound = safeOutbound({ allowPrivateTargets: () => true, clock: handClock() });
  const url = `http://127.0.0.1:${receiver.port}/`;
  world.network.reply = (request) => outbound.request({ ...request, url });
  for (let n = 0; n < 2; n++) {
    await world.call("POST", `/api/v1/webhooks/${hook.id}/test`, { as: owner.token });
    await world.settle();
  }
  outbound.close();
  const listed = await deliveriesOf(world, owner, hook.id);
  const deliveries: { id: string; status: string; attempt: number }[] = listed.deliveries;
  deq(deliveries.map(({ status, attempt }) => [status, attempt]), [
    ["succeeded", 1],
    ["succeeded", 1],
  ]);
  const idOf = (body: string) => JSON.parse(body).delivery_id;
  const [first, second] = deliveries.toReversed().map(({ id }) => id);
  deq(receiver.heard.map(({ body }) => idOf(body)), [first, second, second]);
});
