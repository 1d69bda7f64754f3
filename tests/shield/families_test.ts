import { deepStrictEqual as deq } from "node:assert/strict";
import { FAMILIES } from "../../core/shield/programs/families.ts";

Deno.test("families: each fact about a program stands once", () => {
  const facts = FAMILIES.flatMap(({ names, wrappers: _, ...facts }) =>
    Object.keys(facts).flatMap((fact) => names.map((name) => `${name}: ${fact}`))
  );
  deq(facts.filter((fact, at) => facts.indexOf(fact) !== at), []);
});
