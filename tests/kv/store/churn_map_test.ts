import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { ChurnMap } from "../../../kv/store/churn_map.ts";

Deno.test("ChurnMap: holds the last value of each key until it is deleted", () => {
  const map = new ChurnMap<{ n: number }>();
  map.set("a", { n: 1 });
  map.set("b", { n: 2 });
  map.set("a", { n: 3 });
  deq(map.values(), [{ n: 3 }, { n: 2 }]);
  map.delete("a");
  map.delete("a");
  map.delete("never");
  deq([map.get("a"), map.get("b"), map.size], [undefined, { n: 2 }, 1]);
  for (let n = 0; n < 1_000; n++) {
    map.set(`k${n}`, { n });
    map.delete(`k${n - 5}`);
  }
  deq(map.values(), [2, 995, 996, 997, 998, 999].map((n) => ({ n })));
  eq(map.size, 6);
});
