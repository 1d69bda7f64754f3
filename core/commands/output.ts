import { Buffer } from "node:buffer";
import { readBlob, writeBlob } from "../../kv/store/blob.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { CommandRecord } from "../../kv/records/command.ts";
import type { App } from "../work/work.ts";

/** What a command wrote. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** More output than this goes into chunks: with the command at its longest the record still fits. */
const INLINE_CHARS_MAX = 8 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

type KeptOutput = Pick<CommandRecord, "stdout" | "stderr" | "output">;

/** Output as a record holds it; null when it is too large for that. */
export function inlineOutput({ stdout = "", stderr = "" }: Partial<Output>): KeptOutput | null {
  return stdout.length + stderr.length <= INLINE_CHARS_MAX
    ? { stdout, stderr, output: null }
    : null;
}

/** Output that is too large for a record: in the store when this answers. */
export async function keepOutput(
  app: App,
  tenant: Tenant,
  { stdout = "", stderr = "" }: Partial<Output>,
): Promise<KeptOutput> {
  const bytes = Buffer.from(stdout + stderr);
  const id = app.ports.entropy.id("blb");
  const expireIn = (app.config().retention_days.commands + 1) * DAY_MS;
  const ref = await writeBlob(app.store, tenant, id, bytes, expireIn);
  const output = { ...ref, stdout_bytes: Buffer.byteLength(stdout) };
  return { stdout: "", stderr: "", output };
}

/** What a command wrote, wherever it is kept. */
export async function outputOf(app: App, tenant: Tenant, record: CommandRecord): Promise<Output> {
  if (record.output === null) return record;
  const bytes = await readBlob(app.store, tenant, record.output);
  if (bytes === null) return { stdout: "", stderr: "" };
  const text = (from: number, to?: number) => new TextDecoder().decode(bytes.subarray(from, to));
  const { stdout_bytes: split } = record.output;
  return { stdout: text(0, split), stderr: text(split) };
}
