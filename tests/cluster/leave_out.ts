// Loaded before tests that run on several instances: the tests of the table are ignored.
import { NAMES } from "./left_out.ts";

type Arguments = [named: string | Deno.TestDefinition, fn?: Deno.TestDefinition["fn"]];

const { test } = Deno;
const register = (...[named, fn]: Arguments) => {
  const definition = typeof named === "string" ? { name: named, fn: fn! } : named;
  const ignore = NAMES.has(definition.name) || (definition.ignore ?? false);
  test({ ...definition, ignore });
};
Object.assign(Deno, { test: Object.assign(register, test) });
