import { strictEqual as eq } from "node:assert/strict";
import { RecentMap } from "../../../kv/store/recent.ts";

Deno.test("RecentMap: an entry goes once it was not used in a whole generation", () => {
  const map = new RecentMap<number>(4);
  map.set("used", 1);
  map.set("unused", 2);
  for (const key of ["a", "b", "c", "d"]) {
    map.set(key, 0);
    eq(map.get("used"), 1);
  }
  eq(map.get("unused"), undefined);
});

Deno.test("RecentMap: a generation ends by time too, also after the clock stepped back", () => {
  const map = new RecentMap<number>(100);
  map.ageEvery(1_000, 10_000);
  map.set("used", 1);
  map.set("unused", 2);
  map.ageEvery(1_000, 10_999);
  map.ageEvery(1_000, 11_000);
  eq(map.get("used"), 1);
  map.ageEvery(1_000, 11_500);
  eq(map.get("unused"), 2, "it lasts as long as its generation");
  map.ageEvery(1_000, 12_000);
  map.ageEvery(1_000, 500);
  eq(map.get("used"), undefined);
  eq(map.evicted, 2);
});
