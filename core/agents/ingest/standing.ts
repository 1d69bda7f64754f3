import { type IngestTokenRecord, ingestTokens } from "../../../kv/records/ingest.ts";
import type { StandingKind } from "../../access/access.ts";

/** An ingest token admits events from outside; that of a chat bot also decides approvals. */
export const INGEST_TOKEN: StandingKind<IngestTokenRecord> = {
  of: ingestTokens,
  resource: "ingest_token",
  needs: ({ purpose }) =>
    purpose === "telegram" ? ["system:write", "approvals:write"] : ["system:write"],
};
