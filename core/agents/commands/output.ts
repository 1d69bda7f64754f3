import { Buffer } from "node:buffer";
import { readBlob, writeBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Context } from "../../context/context.ts";
import type { Store } from "../../../kv/store/store.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";

/** The output of a command. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of stdout and stderr by turns, stdout first; absent or empty when all of stdout came first. */
  readonly turns?: readonly number[] | undefined;
}

/** Larger output goes into chunks, so that a record with the longest command still fits one value. */
const INLINE_CHARS_MAX = 8 * 1024;
const INLINE_TURNS_MAX = 256;

type KeptOutput = Pick<CommandRecord, "stdout" | "stderr" | "output" | "turns">;

/** Output as a record holds it; null when it is too large. */
export function inlineOutput(
  { stdout = "", stderr = "", turns }: Partial<Output>,
): KeptOutput | null {
  if (stdout.length + stderr.length > INLINE_CHARS_MAX) return null;
  if (turns === undefined) return { stdout, stderr, output: null };
  return turns.length > INLINE_TURNS_MAX
    ? null
    : { stdout, stderr, output: null, turns: [...turns] };
}

/** Stores output that is too large for a record. */
export async function storeOutput(
  { store, ports, config }: Pick<Context, "store" | "ports" | "config">,
  tenant: Tenant,
  { stdout = "", stderr = "", turns }: Partial<Output>,
): Promise<KeptOutput> {
  const order = turns === undefined ? "" : JSON.stringify(turns);
  const bytes = Buffer.from(stdout + stderr + order);
  const id = ports.entropy.id("blb");
  const expireIn = (config().retention_days.commands + 1) * DAY_MS;
  const ref = await writeBlob(store, tenant, id, bytes, expireIn);
  const output = {
    ...ref,
    stdout_bytes: Buffer.byteLength(stdout),
    ...(order !== "" && { turns_bytes: order.length }),
  };
  return { stdout: "", stderr: "", output };
}

/** The output of a command, from its record or its chunks. */
export async function outputOf(
  store: Store,
  tenant: Tenant,
  record: CommandRecord,
): Promise<Output> {
  if (record.output === null) return record;
  const bytes = await readBlob(store, tenant, record.output);
  if (bytes === null) return { stdout: "", stderr: "" };
  const text = (from: number, to?: number) => new TextDecoder().decode(bytes.subarray(from, to));
  const { stdout_bytes: split, turns_bytes = 0 } = record.output;
  const end = bytes.length - turns_bytes;
  return {
    stdout: text(0, split),
    stderr: text(split, end),
    ...(turns_bytes > 0 && { turns: JSON.parse(text(end)) }),
  };
}
