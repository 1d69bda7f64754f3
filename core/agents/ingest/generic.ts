import { z } from "zod";
import { readReports } from "../alerts/report.ts";
import { cut } from "../alerts/sender_fields.ts";
import { recordReports } from "../alerts/record_all.ts";
import type { Stepping } from "../../work/work.ts";
import { ACCEPTED, reasonsOf, receive, type Received, refuse } from "./receive.ts";
import { readLenient } from "./lenient.ts";
import { withUniformTiming } from "./uniform_timing.ts";

/** An event of any system, with its own fields. */
const Message = z.looseObject({
  event: z.string().min(1).max(200),
  payload: z.record(z.string(), z.unknown()),
});

const SOURCE = "generic";

/** Takes one alert in the sender's own form: the payload may hold severity, status and labels. */
export async function receiveGeneric(work: Stepping, token: string | null, body: unknown) {
  await withUniformTiming(work, async () => {
    const received = await receive(work, "generic", token, Message, body);
    return received && await takeGeneric(received);
  });
  return ACCEPTED;
}

async function takeGeneric(received: Received<z.infer<typeof Message>>) {
  const { event, payload } = received.message;
  const { reports, errors } = await readReports(
    [payload],
    (alert) => readLenient(alert, { fixed: { name: event } }),
  );
  await recordReports(received, { source: SOURCE, delivery: null }, reports, {
    always: false,
    details: { event: cut(event, 200) },
  });
  if (errors.length > 0) await refuse(received, reasonsOf(errors));
  return ACCEPTED;
}
