import { sealersOf } from "../../core/host/backup/manifest.ts";
import { admitSecrets } from "../../core/host/secrets/installation.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { organizations } from "../../kv/records/organization.ts";
import { SYSTEM } from "../../kv/store/collection.ts";
import { ManualClock } from "../support/clock.ts";
import { seededEntropy } from "../support/world.ts";

export const SECRET = "the secret of this store";
export const EPOCH = "e_first";
export const HOST = { org: "org_host", space: "live" } as const;

/** The ports of a backup, on a clock that the test moves. */
export function backupPorts() {
  const clock = new ManualClock();
  return { clock, entropy: seededEntropy(7, clock) };
}

/** Makes a store with the host's organization in it. */
export async function makeStore(kv: string, ports: ReturnType<typeof backupPorts>): Promise<void> {
  const { store, close } = await openStore(kv, ports.clock);
  const [sealer] = sealersOf({ secret: SECRET, olderSecrets: [] }, ports.entropy);
  await store.transact(async (tx) => {
    await admitSecrets(tx, sealer!, { epoch: EPOCH, created_at_ms: 0 });
    tx.put(organizations, SYSTEM, {
      id: HOST.org,
      name: "Host",
      plan: "starter",
      active: true,
      host: true,
      created_at_ms: 0,
      limits: null,
      require_second_factor: false,
    });
  });
  await close();
}
