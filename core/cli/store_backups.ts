import { HOUR_MS } from "../../kv/store/durations.ts";
import type { Environment } from "../context/context.ts";
import type { StoreBackups } from "../ports/ports.ts";
import { startProgram } from "./program.ts";

/** Backups of the store of an environment, each by `relay backup` in a process of its own. */
export function storeBackups(given: Environment): StoreBackups {
  const env: Record<string, string> = {};
  for (const [name, value = ""] of Object.entries(given)) {
    if (/^RELAY_(KV|SECRET)/.test(name)) env[name] = value;
  }
  return {
    async add(folder, keepMs, signal) {
      const program = startProgram(["backup", "--keep", `${keepMs / HOUR_MS}h`, folder], { env });
      const kill = () => void program.kill();
      signal.addEventListener("abort", kill);
      const { code } = await program.ended;
      signal.removeEventListener("abort", kill);
      if (code === 0) return;
      const reason = program.lines.findLast((line) => line.startsWith("relay: "));
      throw new Error(reason?.slice("relay: ".length) ?? `relay backup ended with code ${code}`);
    },
  };
}
