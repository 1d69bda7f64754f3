import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { relative } from "node:path";
import project from "../../deno.json" with { type: "json" };

/** What one module loads when it starts, itself included: paths in the repository, and packages. */
async function loadedBy(main: string): Promise<string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", main],
    stderr: "null",
  }).output();
  const { roots, modules } = JSON.parse(new TextDecoder().decode(stdout)) as Graph;
  const byName = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set(roots);
  for (const name of loaded) {
    for (const { code, isDynamic } of byName.get(name)?.dependencies ?? []) {
      // Types and what is loaded on demand do not count.
      if (code?.specifier !== undefined && isDynamic !== true) loaded.add(code.specifier);
    }
  }
  return [...loaded].filter((name) => !name.startsWith("node:")).map((name) =>
    name.startsWith("file:") ? relative(".", new URL(name).pathname) : name
  );
}

interface Graph {
  readonly roots: string[];
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly code?: { readonly specifier?: string };
      readonly isDynamic?: boolean;
    }[];
  }[];
}

/** What an agent is made of. */
const AGENT = [
  "main.ts",
  "deno.json",
  "core/cli/agent/",
  "core/cli/address.ts",
  "core/cli/arguments.ts",
  "core/cli/cli.ts",
  "core/cli/help.ts",
  "core/cli/printable_line.ts",
  "core/cli/process.ts",
  "core/cli/remote/command.ts",
  "core/cli/remote/command_rows.ts",
  "core/cli/remote/oversight/rows.ts",
  "core/cli/remote/table.ts",
  "core/cli/unreached.ts",
  "core/client/",
  "core/protocol/",
  "core/ports/",
  "core/codec/",
  "core/fault/",
  "kv/store/clock.ts",
  "kv/store/durations.ts",
  "kv/engine/errors.ts",
  "kv/store/recent.ts",
  "kv/maintenance/disk.ts",
  "kv/maintenance/location.ts",
  "npm:",
];

Deno.test("relay agent: loads no code of a relay", async () => {
  const loaded = [...await loadedBy("main.ts"), ...await loadedBy("core/cli/agent/cli.ts")];
  ok(loaded.includes("core/cli/agent/agent.ts"));
  deq(loaded.filter((name) => !AGENT.some((part) => name.startsWith(part))), []);
});

Deno.test("relay serve: loads no code of an agent, and no library that a start does not need", async () => {
  const loaded = [...await loadedBy("core/cli/serve.ts"), ...await loadedBy("routes/index.ts")];
  ok(loaded.includes("core/start.ts"));
  const late = [
    "core/cli/agent/",
    "core/policies/git/fetch.ts",
    "npm:@opentelemetry/",
    "npm:isomorphic-git@",
    "npm:prom-client@",
    "npm:ws@",
    "npm:yaml@",
  ];
  deq(loaded.filter((name) => late.some((part) => name.startsWith(part))), []);
});

Deno.test("relay help: loads the table of commands only", async () => {
  deq((await loadedBy("main.ts")).sort(), [
    "core/cli/cli.ts",
    "core/cli/remote/command.ts",
    "core/cli/remote/command_rows.ts",
    "core/cli/remote/oversight/rows.ts",
    "core/cli/remote/table.ts",
    "deno.json",
    "main.ts",
  ]);
  // Without it, Deno reads all files of a relay before it prints the help.
  ok(project.unstable.includes("lazy-dynamic-imports"));
});

Deno.test("relay agents: commands for people load the client and the parser of arguments only", async () => {
  const loaded = [
    ...await loadedBy("core/cli/remote/remote.ts"),
    ...await loadedBy("core/cli/remote/agents.ts"),
  ];
  const own = [
    "core/cli/",
    "core/client/",
    "core/codec/",
    "core/fault/",
    "kv/store/durations.ts",
    "npm:@stricli/core@",
  ];
  deq(loaded.filter((name) => !own.some((part) => name.startsWith(part))), []);
});
