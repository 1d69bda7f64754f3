import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { FAMILIES } from "../../core/shield/programs/families.ts";
import type { Family } from "../../core/shield/programs/family.ts";

const FOLDER = new URL("../../core/shield/programs/families/", import.meta.url);

Deno.test("families: each fact about a program stands once", () => {
  const facts = FAMILIES.flatMap(({ names, wrappers: _, ...facts }) =>
    Object.keys(facts).flatMap((fact) => names.map((name) => `${name}: ${fact}`))
  );
  deq(facts.filter((fact, at) => facts.indexOf(fact) !== at), []);
});

Deno.test("families: all facts about a program stand in one file", async () => {
  const files = new Map<string, Set<string>>();
  for (const { name: file } of Deno.readDirSync(FOLDER)) {
    const exported: Record<string, unknown> = await import(new URL(file, FOLDER).href);
    for (const families of Object.values(exported).filter(Array.isArray)) {
      for (const { names } of families as Family[]) {
        for (const name of names) files.set(name, (files.get(name) ?? new Set()).add(file));
      }
    }
  }
  ok(FAMILIES.every(({ names }) => names.every((name) => files.has(name))));
  deq([...files].filter(([, found]) => found.size > 1).map(([name]) => name), []);
});
