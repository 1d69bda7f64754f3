import { z } from "zod";
import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import type { IngestPurpose, IngestTokenRecord } from "../../../kv/records/ingest.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { firstIssue, type ReportError } from "../alerts/report.ts";
import { idsOf } from "../../identity/identity.ts";
import type { Stepping } from "../../work/work.ts";
import type { Context } from "../../context/context.ts";
import { emit } from "../../events/events.ts";
import { INGEST_TOKEN } from "./standing.ts";
import { noteStanding, suspensionOf } from "../../access/access.ts";
import { findIngestToken } from "./tokens.ts";

/** The answer to every sender, whether or not the request had any effect. */
export const ACCEPTED = { accepted: true } as const;

/** A request with a valid token. */
export interface Received<T> extends Pick<Context, "store" | "ports" | "signals"> {
  /** The token, which the audit trail names as the actor. */
  readonly actor: { readonly id: string };
  readonly token: IngestTokenRecord;
  readonly tenant: Tenant;
  readonly request: Stepping["request"];
  readonly message: T;
}

/**
 * Reads the message of a request with a valid token; null for any other, and for a suspended token. An unreadable
 * message goes into the log and the audit trail, because the answer does not report it.
 */
export async function receive<T>(
  { ports, request, signals, store }: Stepping,
  purpose: IngestPurpose,
  value: string | null,
  schema: z.ZodType<T>,
  body: unknown,
): Promise<Received<T> | null> {
  const found = await findIngestToken({ store }, value, purpose);
  // Unknown tokens take the same reads as known ones.
  const organization = await store.get(organizations, SYSTEM, found?.tenant.org ?? "nobody");
  if (found === null || !organization?.active) return null;
  const { tenant, record: token } = found;
  const suspension = await suspensionOf(store, tenant, INGEST_TOKEN, token);
  await noteStanding({ ports, signals, store }, tenant, INGEST_TOKEN, token);
  // A chat gets the reason in its answer.
  if (suspension !== null && purpose !== "telegram") return null;
  const actor = { id: token.id };
  const read = schema.safeParse(body);
  const received = { ports, signals, store, actor, token, tenant, request };
  if (read.success) return { ...received, message: read.data };
  await refuse(received, [firstIssue(read.error)]);
  return null;
}

/** Records that a part of a request could not be read. */
export async function refuse(
  { ports, signals, store, actor, token, tenant, request }: Omit<Received<unknown>, "message">,
  reasons: readonly string[],
): Promise<void> {
  const details = { purpose: token.purpose, reasons: reasons.slice(0, REASONS_SHOWN) };
  ports.log.warn("a request with an ingest token could not be read", {
    token: token.id,
    ...idsOf(request),
    ...details,
  });
  await store.transact((tx) => {
    emit({ ports, signals, actor, request }, tx, tenant, {
      type: "ingest_refused",
      resource: { type: "ingest_token", id: token.id },
      details,
    });
  });
}

const REASONS_SHOWN = 5;

/** The errors of single alerts, as recorded. */
export const reasonsOf = (errors: readonly ReportError[]): string[] =>
  errors.map(({ index, message }) => `alerts.${index}: ${message}`);
