import { z } from "zod";
import {
  adoptIngestToken,
  createIngestToken,
  deleteIngestToken,
  listIngestTokens,
} from "../core/agents/agents.ts";
import { INGEST_PURPOSES } from "../kv/records/ingest.ts";
import { route } from "./call/route.ts";
import {
  ADOPTION,
  CreatedWith,
  DeletedResource,
  IdParams,
  listOf,
  Name,
  PageQuery,
  standing,
  Timestamp,
} from "./schemas/schemas.ts";

const Purpose = z.enum(INGEST_PURPOSES).meta({ id: "IngestPurpose" });
const IngestToken = z.object({
  id: z.string(),
  name: z.string(),
  purpose: Purpose,
  prefix: z.string().meta({
    description: "The first characters of the value, to tell tokens apart.",
  }),
  ...standing,
  created_by: z.string(),
  created_with: CreatedWith,
  created_at: Timestamp,
}).meta({ id: "IngestToken" });

const NewIngestToken = IngestToken.extend({
  token: z.string().meta({ description: "The whole value, `svc_ingest_…`." }),
}).meta({ id: "NewIngestToken" });

export const ingestTokenRoutes = [
  route({
    id: "ingest_tokens.create",
    method: "POST",
    path: "/api/v1/ingest-tokens",
    summary: "Create an ingest token",
    description:
      "An external system uses it to send alerts or messages. Only this response shows the " +
      "value. It allows what its purpose says and nothing else.",
    access: { scope: "system:write" },
    effect: "write",
    noStore: true,
    audit: {
      event: "ingest_token_created",
      resource: "ingest_token",
      id: (token) => token.id,
      details: ({ name, purpose }) => ({ name, purpose }),
    },
    body: z.strictObject({
      name: Name.meta({ examples: ["Alertmanager eu-1"] }),
      purpose: Purpose,
    }),
    success: {
      status: 201,
      body: NewIngestToken,
    },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => createIngestToken(work, body),
  }),
  route({
    id: "ingest_tokens.list",
    method: "GET",
    path: "/api/v1/ingest-tokens",
    summary: "List ingest tokens",
    access: { scope: "system:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("ingest_tokens", IngestToken) },
    faults: [],
    handle: (work, { query }) => listIngestTokens(work, query),
  }),
  route({
    id: "ingest_tokens.adopt",
    method: "POST",
    path: "/api/v1/ingest-tokens/{id}/adopt",
    summary: "Adopt a suspended ingest token",
    description: ADOPTION +
      " The token gets a new value, which only this response shows, because " +
      "the previous user knows the old one.",
    access: { scope: "system:write" },
    noStore: true,
    effect: "write",
    audit: { byRule: "standing_adopted" },
    params: IdParams,
    success: { status: 200, body: NewIngestToken },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }) => adoptIngestToken(work, params.id),
  }),
  route({
    id: "ingest_tokens.delete",
    method: "DELETE",
    path: "/api/v1/ingest-tokens/{id}",
    summary: "Delete an ingest token",
    description: "The token stops working at once.",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "ingest_token_deleted",
      resource: "ingest_token",
      id: ({ id }) => id,
      details: ({ name, purpose }) => ({ name, purpose }),
    },
    params: IdParams,
    success: { status: 204, about: DeletedResource.extend({ purpose: Purpose }) },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }) => deleteIngestToken(work, params.id),
  }),
];
