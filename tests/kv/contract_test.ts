import { Bench, strictKv } from "../support/kv.ts";
import { logContract } from "./contract_log.ts";
import { readContract } from "./contract_reads.ts";
import { transactionContract } from "./contract_transactions.ts";

/** The guarantees that rules rely on, for one kind of store. */
function storeContract(name: string, open: () => Promise<Bench>): void {
  transactionContract(name, open);
  readContract(name, open);
  logContract(name, open);
}

const SHARED = { sole: false, hasQueue: false, remote: true };

storeContract(":memory:", () => Bench.memory());

storeContract("file", async () => {
  const dir = await Deno.makeTempDir();
  const bench = new Bench(await Deno.openKv(`${dir}/relay.kv`));
  const dispose = bench[Symbol.asyncDispose].bind(bench);
  bench[Symbol.asyncDispose] = async () => {
    await dispose();
    await Deno.remove(dir, { recursive: true });
  };
  return bench;
});

storeContract(
  "shared, ten checks, no queue",
  async () => new Bench(strictKv(await Deno.openKv(":memory:")), "x", SHARED),
);

const url = Deno.env.get("RELAY_TEST_KV_URL");
if (url !== undefined) {
  storeContract(
    "KV Connect",
    async () => new Bench(await Deno.openKv(url), crypto.randomUUID(), SHARED),
  );
}
