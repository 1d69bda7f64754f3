import { commandMadeMs } from "../records/command.ts";
import { packedInstant, packedKey, packedOwnerKey } from "../store/packed.ts";
import type { Store } from "../store/store.ts";
import type { KeyParts } from "../store/collection.ts";
import { everyTenant } from "./every_tenant.ts";

/** Until now, packed commands were stored under the time of their end, without entries of their agents. */
const [BEFORE, NOW] = ["commands", "ended_commands"];

/** Entries of one commit. */
const ENTRIES_MAX = 100;

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
        // Values of one commit share their versionstamp, and their commands may have begun at one instant.
        const key = [...prefix, packedInstant(madeMs), keptMs, stamp, endedMs];
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
      let op = kv.atomic(), size = 0;
      for (const { key, lines } of expireIn > 0 ? values.values() : []) {
        op.set(key, encoder.encode(lines.join("\n")), { expireIn });
        if (++size % ENTRIES_MAX > 0) continue;
        await op.commit();
        op = kv.atomic();
      }
      // The old value goes last: after an interruption the same entries are written again.
      await op.delete(key).commit();
    }
  }
}
