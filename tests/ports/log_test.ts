import { deepStrictEqual as deq } from "node:assert/strict";
import { machineHost } from "../../core/cli/agent/host.ts";
import { atLevel } from "../../core/ports/log_line.ts";
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

Deno.test("atLevel: keeps the lines of a level and those above", () => {
  const written: string[] = [];
  const log = {
    info: () => written.push("info"),
    warn: () => written.push("warn"),
    error: () => written.push("error"),
  };
  for (const least of ["info", "warn", "error"] as const) {
    const kept = atLevel(log, least);
    for (const level of ["info", "warn", "error"] as const) kept[level]("told");
  }
  deq(written, ["info", "warn", "error", "warn", "error", "error"]);
});
