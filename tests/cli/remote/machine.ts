import { ScriptedAgent } from "../../support/agent.ts";
import type { World } from "../../support/world.ts";

/** Follows the line that `relay pair` printed, once: pairs a machine, and connects its agent. */
export function machineThat(world: World) {
  let paired = false;
  return async (text: string): Promise<void> => {
    const [, name = "box", code] = /agent pair .*?(?:--name (\S+) )?--code (\S+)/.exec(text) ?? [];
    if (code === undefined || paired) return;
    paired = true;
    const device = { device_name: name, pairing_code: code };
    const { body } = await world.call("POST", "/api/devices/pair", { body: device });
    const { device_id, token } = body;
    const confirmed = await world.call("POST", "/api/devices/confirm", {
      body: { device_id, token },
    });
    await ScriptedAgent.connect(world, confirmed.body.credential, { name });
  };
}
