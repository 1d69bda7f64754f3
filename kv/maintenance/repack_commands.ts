import { commandMadeMs } from "../records/command.ts";
import { packedInstant, packedKey, packedOwnerKey } from "../store/packed.ts";
import type { Store } from "../store/store.ts";
import type { KeyParts } from "../store/collection.ts";
import { everyTenant } from "./every_tenant.ts";

/** Until now, packed commands were stored under the time of their end, without entries of their agents. */
const [BEFORE, NOW] = ["commands", "ended_commands"];

/** Stores packed commands under the time of their ids, with entries of their agents. */
export async function repackCommands({ kv, clock }: Store): Promise<void> {
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  for await (const tenant of everyTenant(kv)) {
    const old = kv.list<Uint8Array>({ prefix: packedKey(tenant, BEFORE) });
    for await (const { key, value } of old) {
      const [endedMs, keptMs, stamp] = key.slice(-3) as [number, number, string];
      const expireIn = endedMs + keptMs - clock.now();
      const values = new Map<string, { key: KeyParts; lines: string[] }>();
      const add = (prefix: KeyParts, madeMs: number, line: string) => {
        const key = [...prefix, packedInstant(madeMs), keptMs, stamp];
        const known = values.get(key.join());
        if (known === undefined) values.set(key.join(), { key, lines: [line] });
        else known.lines.push(line);
      };
      for (const json of decoder.decode(value).split("\n")) {
        const [id, agentId] = JSON.parse(json) as [string, string];
        const madeMs = commandMadeMs(id)!;
        add(packedKey(tenant, NOW), madeMs, json);
        add(packedOwnerKey(tenant, NOW, agentId), madeMs, id);
      }
      const op = kv.atomic().delete(key);
      for (const { key, lines } of expireIn > 0 ? values.values() : []) {
        op.set(key, encoder.encode(lines.join("\n")), { expireIn });
      }
      await op.commit();
    }
  }
}
