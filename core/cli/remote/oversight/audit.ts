import type { AuditResult, Operations } from "../../../client/client.ts";
import { UsageError } from "../../arguments.ts";
import type { Call, Run } from "../command.ts";

const FORMATS: Readonly<Record<string, string>> = {
  ndjson: "application/x-ndjson",
  json: "application/json",
  csv: "text/csv",
};
/** The deadline of an export. */
const EXPORT_MS_MAX = 60 * 60 * 1000;

/** The rows that the options choose. */
const choiceOf = ({ text, list }: Call): NonNullable<Operations["audit.export"]["query"]> => ({
  event_type: list("type").join(",") || undefined,
  agent_id: text("agent"),
  actor: text("actor"),
  resource_id: text("resource"),
  result: text("result") as AuditResult | undefined,
  thread: text("thread"),
  text: text("text"),
  start_time: text("since"),
  end_time: text("until"),
});

/** `relay audit ls` */
export const listAudit: Run = async (call) => {
  const { relay, text, number, out } = call;
  const answer = await relay().call("audit.query", {
    query: { ...choiceOf(call), limit: number("limit"), cursor: text("cursor") },
  });
  await out.list(
    answer,
    ["ID", "TIME", "TYPE", "ACTOR", "RESOURCE"],
    answer.events.map((row) =>
      [
        row.event_id,
        row.timestamp,
        row.event_type,
        row.actor,
        `${row.resource_type} ${row.resource_id}`,
      ] as const
    ),
  );
  if (answer.cursor !== null) await out.note(`There are more: --cursor ${answer.cursor}`);
};

/** `relay audit export` */
export const exportAudit: Run = async (call) => {
  const { text, host, out } = call;
  const format = text("format") ?? "ndjson";
  if (!Object.hasOwn(FORMATS, format)) {
    throw new UsageError(
      `The format ${JSON.stringify(format)} is not one of ${Object.keys(FORMATS).join(", ")}.`,
    );
  }
  const body = await openExport(call, format);
  const file = text("file");
  if (file === undefined) {
    for await (const piece of body.pipeThrough(new TextDecoderStream())) await host.write(piece);
    return;
  }
  await writeWhole(file, body);
  await out.item({ file, format }, file, [["file", file], ["format", format]]);
  if (format !== "csv") await out.note(`Check it: relay audit verify ${file}`);
};

/** Writes a file as it arrives. A file of that name is whole, or was there before. */
export async function writeWhole(file: string, body: ReadableStream<Uint8Array>): Promise<void> {
  const part = `${file}.part`;
  try {
    await Deno.writeFile(part, body);
    await Deno.rename(part, file);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    throw error;
  }
}

/** The export of the chosen rows as it arrives. @throws {RelayError} */
export async function openExport(
  call: Call,
  format: string,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const response = await call.relay().open("audit.export", {
    query: choiceOf(call),
    accept: FORMATS[format],
    timeoutMs: EXPORT_MS_MAX,
  });
  return response.body!;
}
