import { z } from "zod";
import {
  type Consistency,
  type Verdict,
  verifyExport,
  type VerifyOptions,
} from "../../../events/events.ts";
import { keyText, type NoteKey, readKey } from "../../../protocol/protocol.ts";
import { UsageError } from "../../arguments.ts";
import type { Call, Run } from "../command.ts";
import { openExport } from "./audit.ts";
import { describeFinding, describeVerdict } from "./verdict.ts";

const ConsistencyAnswer = z.object({
  from: z.int(),
  to: z.int(),
  path: z.array(z.string()),
});

/** The exit code for a file that is not what was signed. */
export const INVALID = 1;
const UNCHECKED = 2;

/** `relay audit verify` */
export const verify: Run = checking(async (call) => {
  const { args: [file], has, host, out } = call;
  const options = await readOptions(call);
  const rows = file === undefined
    ? await openExport(call, "ndjson")
    : (await Deno.open(file)).readable;
  const verdict = await verifyExport(rows, options);
  if (out.format === "table" && !has("quiet")) {
    await host.write(`${describeVerdict(verdict)}\n`);
  } else await out.item(answerOf(verdict), verdict.finding === null ? "valid" : "invalid", []);
  if (verdict.finding !== null) return INVALID;
  return verdict.witness === "not comparable" ? UNCHECKED : 0;
});

/** A command that checks a file. What keeps it from checking says nothing about the file, so it exits with 2. */
export function checking(check: Run): Run {
  return async (call) => {
    try {
      return await check(call);
    } catch (error) {
      const { text, exit } = call.explain(error);
      await call.host.writeError(`${text}\n`);
      return exit === INVALID ? UNCHECKED : exit;
    }
  };
}

/** A verdict for programs. */
const answerOf = ({ finding, rows, statement, witness, keyFromFile, handovers }: Verdict) => ({
  valid: finding === null,
  problem: finding === null ? null : {
    kind: finding.kind,
    first: finding.first,
    last: finding.last,
    line: finding.line,
    message: describeFinding(finding),
  },
  rows,
  log: statement === null ? null : {
    origin: statement.origin,
    rows: statement.size,
    rows_expired: statement.expired,
    time: statement.time,
    filter: statement.selection?.filter ?? null,
  },
  checkpoint: witness.replace(" ", "_"),
  given_key: !keyFromFile,
  handovers: handovers.map(({ from, to, rows }) => ({
    from: keyText(from),
    to: keyText(to),
    rows,
  })),
});

/** @throws {UsageError} @throws {Error} with what cannot be read */
async function readOptions({ text }: Call): Promise<VerifyOptions> {
  const [key, checkpoint, consistency] = [text("key"), text("checkpoint"), text("consistency")];
  if (consistency !== undefined && checkpoint === undefined) {
    throw new UsageError("The option --consistency needs --checkpoint, at whose size it starts.");
  }
  return {
    key: key === undefined ? undefined : await keyOf(key),
    checkpoint: checkpoint === undefined ? undefined : await noteOf(checkpoint),
    consistency: consistency === undefined ? undefined : await proofOf(consistency),
  };
}

/** The key of an option: the key itself, or a file with it. @throws {Error} */
export async function keyOf(text: string): Promise<NoteKey> {
  const key = readKey(text) ??
    readKey((await Deno.readTextFile(text).catch(() => "")).trim());
  if (key !== null) return key;
  throw new Error(`${JSON.stringify(text)} is neither a key (name+id+base64) nor a file with one`);
}

async function noteOf(path: string): Promise<string> {
  const text = await Deno.readTextFile(path);
  if (!text.startsWith("{")) return text;
  const { note } = JSON.parse(text) as { note?: unknown };
  if (typeof note !== "string") throw new Error(`${path} holds no checkpoint`);
  return note;
}

async function proofOf(path: string): Promise<Consistency> {
  const proof = ConsistencyAnswer.safeParse(JSON.parse(await Deno.readTextFile(path)));
  if (!proof.success) throw new Error(`${path} holds no consistency proof`);
  return proof.data;
}
