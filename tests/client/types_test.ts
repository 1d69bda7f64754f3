import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { clientOperations, clientTypes } from "./client_source.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

Deno.test("types.ts, operations.ts: they are what deno task docs writes", async () => {
  const document = await read("docs/openapi.json");
  eq(await read("core/client/types.ts"), await clientTypes(document));
  eq(await read("core/client/operations.ts"), await clientOperations(document));
});

Deno.test("core/client: imports nothing of Relay, no package and nothing of one runtime", async () => {
  const folder = new URL("../../core/client/", import.meta.url);
  const complaints: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(new URL(name, folder));
    const imported = [...text.matchAll(/from "([^"]+)"/g)].map(([, from]) => from!);
    const foreign = imported.filter((from) => !/^\.\/\w+\.ts$/.test(from));
    const named = text.replaceAll(/\/\*\*[\s\S]*?\*\//g, "")
      .match(/\b(Deno|Buffer|process|window|document)\./g) ?? [];
    complaints.push(...[...foreign, ...named].map((what) => `${name}: ${what}`));
  }
  deq(complaints, []);
});
