import { deepStrictEqual as deq } from "node:assert/strict";
import { machineHost } from "../../core/cli/agent/host.ts";
import { systemLog } from "../../core/ports/system.ts";

Deno.test("log: a line that cannot be written stops neither the relay nor an agent", () => {
  const { error, log } = console;
  const tried: string[] = [];
  const full = (line: string) => {
    tried.push(line);
    throw new Error("No space left on device (os error 28)");
  };
  console.error = console.log = full;
  try {
    for (const level of ["info", "warn", "error"] as const) {
      systemLog[level]("told");
      machineHost.log[level]("told");
    }
  } finally {
    console.error = error;
    console.log = log;
  }
  const messages = tried.map((line) => line.startsWith("{") ? JSON.parse(line).message : line);
  deq(messages, ["told", "told", "told", "warning: told", "told", "error: told"]);
});
