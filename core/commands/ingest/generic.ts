import { z } from "zod";
import { fingerprintOf, readReports } from "../alerts/report.ts";
import { takeReports } from "../alerts/take_all.ts";
import type { Stepping } from "../../work/work.ts";
import { keepPace } from "./pace.ts";
import { ACCEPTED, reasonsOf, receive, type Received, refuse } from "./receive.ts";
import { sha256Hex } from "../../codec/text.ts";
import { cut, idOf, severityOf } from "./text.ts";

/** An event of any system, with whatever it says of it. */
const Message = z.looseObject({
  event: z.string().min(1).max(200),
  payload: z.record(z.string(), z.unknown()),
});

const SOURCE = "generic";
const SUMMARY_CHARS_MAX = 500;
const PAYLOAD_CHARS_MAX = 2_000;

/** Takes one alert in a form of the sender's own: the payload may say its severity, status and labels. */
export async function receiveGeneric(work: Stepping, token: string | null, body: unknown) {
  await keepPace(work.app, async () => {
    const received = await receive(work, "generic", token, Message, body);
    return received && await takeGeneric(received);
  });
  return ACCEPTED;
}

async function takeGeneric(received: Received<z.infer<typeof Message>>) {
  const { event, payload } = received.message;
  const { reports, errors } = await readReports([itemOf(event, payload)]);
  await takeReports(received, { source: SOURCE, delivery: null }, reports, {
    always: false,
    details: { event: cut(event, 200) },
  });
  if (errors.length > 0) await refuse(received, reasonsOf(errors));
  return ACCEPTED;
}

function itemOf(event: string, payload: Readonly<Record<string, unknown>>): unknown {
  const labels = textsOf(payload.labels);
  const summary = [payload.summary, payload.message, payload.description]
    .find((text) => typeof text === "string");
  return {
    name: event,
    severity: severityOf(payload.severity),
    state: payload.status === "resolved" ? "resolved" : "active",
    fingerprint: namedBy(payload.fingerprint) ?? fingerprintOf(event.toWellFormed(), labels),
    agent_id: idOf(payload.agent_id),
    labels,
    annotations: {
      ...(typeof summary === "string" && { summary: cut(summary, SUMMARY_CHARS_MAX) }),
      payload: cut(JSON.stringify(payload), PAYLOAD_CHARS_MAX),
    },
  };
}

/** A name of the sender's own, whatever it looks like: two of them are two alerts. */
function namedBy(value: unknown): string | null {
  const name = textOf(value);
  return name ? idOf(name) ?? sha256Hex(name).slice(0, 32) : null;
}

/** The members of an object that are text, or say something in one word. */
function textsOf(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, said]) => {
      const text = textOf(said);
      return text === null ? [] : [[name.toWellFormed(), text]];
    }),
  );
}

const textOf = (value: unknown): string | null =>
  ["string", "number", "boolean"].includes(typeof value) ? String(value).toWellFormed() : null;
