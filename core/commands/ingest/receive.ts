import { z } from "zod";
import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import type { IngestPurpose, IngestTokenRecord } from "../../../kv/records/ingest.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { firstIssue, type ReportError } from "../alerts/report.ts";
import type { App, Stepping } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { INGEST_TOKEN } from "./standing.ts";
import { noteStanding } from "../../access/standing/review.ts";
import { suspensionOf } from "../../access/standing/suspension.ts";
import { findIngestToken } from "./tokens.ts";

/** What every sender is told, whether or not anything came of it. */
export const ACCEPTED = { accepted: true } as const;

/** A request that a right token brought. */
export interface Received<T> {
  readonly app: App;
  /** The token: it stands in the trail as who did it. */
  readonly actor: { readonly id: string };
  readonly token: IngestTokenRecord;
  readonly tenant: Tenant;
  readonly request: Stepping["request"];
  readonly message: T;
}

/**
 * Reads what came with the right token, and null otherwise, also for one that is suspended. What the token's holder sent and nobody can read
 * goes into the log and the trail, because the answer does not tell.
 */
export async function receive<T>(
  { app, request }: Stepping,
  purpose: IngestPurpose,
  value: string | null,
  schema: z.ZodType<T>,
  body: unknown,
): Promise<Received<T> | null> {
  const found = await findIngestToken(app, value, purpose);
  // Read for nobody's token as well, so that both take the same reads.
  const organization = await app.store.get(organizations, SYSTEM, found?.tenant.org ?? "nobody");
  if (found === null || !organization?.active) return null;
  const { tenant, record: token } = found;
  const suspension = await suspensionOf(app.store, tenant, INGEST_TOKEN, token);
  await noteStanding(app, tenant, INGEST_TOKEN, token);
  // A chat is told so, since its bot decides nothing then.
  if (suspension !== null && purpose !== "telegram") return null;
  const actor = { id: token.id };
  const read = schema.safeParse(body);
  const received = { app, actor, token, tenant, request };
  if (read.success) return { ...received, message: read.data };
  await refuse(received, [firstIssue(read.error)]);
  return null;
}

/** Puts on record that some of what came could not be read. */
export async function refuse(
  { app, actor, token, tenant, request }: Omit<Received<unknown>, "message">,
  reasons: readonly string[],
): Promise<void> {
  const details = { purpose: token.purpose, reasons: reasons.slice(0, REASONS_SHOWN) };
  app.ports.log.warn("what came in with an ingest token could not be read", {
    token: token.id,
    request_id: request.id,
    ...details,
  });
  await app.store.transact((tx) => {
    emit({ ports: app.ports, signals: app.signals, actor, request }, tx, tenant, {
      type: "ingest_refused",
      resource: { type: "ingest_token", id: token.id },
      details,
    });
  });
}

const REASONS_SHOWN = 5;

/** How errors of single alerts are told. */
export const reasonsOf = (errors: readonly ReportError[]): string[] =>
  errors.map(({ index, message }) => `alerts.${index}: ${message}`);
