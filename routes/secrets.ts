import { z } from "zod";
import { listSecrets, SECRET_TYPES } from "../core/host/host.ts";
import { KeyStatus } from "./schemas/api_keys.ts";
import { route } from "./call/route.ts";
import { listOf, PageQuery, Timestamp } from "./schemas/schemas.ts";

const Secret = z.object({
  id: z.string().meta({ description: "The id of what it belongs to." }),
  type: z.enum(SECRET_TYPES),
  name: z.string(),
  holds: z.array(z.string()).meta({ description: "Names of the secrets; never their values." }),
  status: KeyStatus.nullable().meta({
    description: "Of an API key: it is listed until it is deleted. Null for what has none.",
  }),
  created_at: Timestamp,
  age_days: z.int(),
  last_used_at: Timestamp.nullable(),
}).meta({ id: "Secret" });

export const secretRoutes = [
  route({
    id: "secrets.list",
    method: "GET",
    path: "/api/v1/secrets",
    summary: "List the secrets that are stored: names, types, ages and last use, never values",
    access: { scope: "secrets:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("secrets", Secret) },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }, parts) => listSecrets(work, parts, query),
  }),
];
