import { openFile } from "../../kv/maintenance/file.ts";
import { lockStore } from "../../kv/maintenance/open.ts";
import { vacuum } from "../../kv/maintenance/vacuum.ts";
import { readStoreSettings } from "./settings.ts";
import { systemClock } from "../ports/ports.ts";
import { runCommand } from "./command.ts";
import { storePath } from "./store.ts";

const HELP = `relay compact: give unused space of the store back to the disk

Usage:
  relay compact

The file of an embedded store never shrinks by itself. Stop the relay first. The command rewrites the
file, which needs the used size twice: once beside the file, and once in SQLite's folder of temporary
files (SQLITE_TMPDIR, else /var/tmp). It may be interrupted at any point.

Options:
  --help   Show this text.

Exit codes:
  0  the file is as small as it can be
  1  it is not, for the printed reason
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
