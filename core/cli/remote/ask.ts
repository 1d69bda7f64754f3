import { printableLine } from "../printable_line.ts";
import type { Call } from "./command.ts";
import { UsageError } from "../arguments.ts";

/** Asks before something that cannot be undone, unless --yes was given. @throws {UsageError} with nobody to ask */
export function confirmed({ host, has }: Pick<Call, "host" | "has">, question: string): boolean {
  if (has("yes")) return true;
  if (!host.interactive) throw new UsageError("Nobody can be asked here: give --yes.");
  return /^y(es)?$/i.test(host.ask(`${printableLine(question)} [y/N]`)?.trim() ?? "");
}
