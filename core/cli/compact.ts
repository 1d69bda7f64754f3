import { readStoreSettings } from "../context/context.ts";
import { openFile } from "../../kv/maintenance/file.ts";
import { lockStore } from "../../kv/maintenance/open.ts";
import { vacuum } from "../../kv/maintenance/vacuum.ts";
import { systemClock } from "../ports/ports.ts";
import { runCommand } from "./command.ts";
import { storePath } from "./store.ts";

const HELP = `relay compact: return unused space of the store to the disk

Usage:
  relay compact

The file of an embedded store never shrinks by itself. Stop the relay first. The command rewrites the
file. It needs free space for the used data twice: beside the file, and in SQLite's temporary directory
(SQLITE_TMPDIR, else /var/tmp). It may be interrupted at any point.

Options:
  --help   Show this text.

Exit codes:
  0  the file was rewritten
  1  the file was not rewritten; the reason is printed
  2  wrong arguments
`;

/** Runs `relay compact`; resolves to the exit code. */
export function compactCommand(args: string[]): Promise<number> {
  return runCommand({ name: "compact", help: HELP, run: compact }, args);
}

async function compact(): Promise<void> {
  const kv = storePath(readStoreSettings(Deno.env.toObject(), false).kv);
  using _lock = await lockStore(kv, systemClock);
  const before = sizeOf(kv);
  vacuum(kv);
  console.log(`${kv}: ${before} bytes before, ${sizeOf(kv)} bytes now`);
}

function sizeOf(kv: string): number {
  using file = openFile(kv);
  return file.size().bytes;
}
