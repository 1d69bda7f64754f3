import { z } from "zod";
import { listSecrets, SECRET_TYPES } from "../core/host/host.ts";
import { KeyStatus } from "./schemas/api_keys.ts";
import { route } from "./call/route.ts";
import { listOf, PageQuery, Timestamp } from "./schemas/schemas.ts";

const Secret = z.object({
  id: z.string().meta({ description: "The id of the resource that it belongs to." }),
  type: z.enum(SECRET_TYPES),
  name: z.string(),
  holds: z.array(z.string()).meta({ description: "The names of the secrets, never their values." }),
  status: KeyStatus.nullable().meta({
    description:
      "The status of an API key, which is listed until it is deleted; null for other types.",
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
    summary: "List stored secrets without their values",
    description: "Shows names, types, ages and last use.",
    access: { scope: "secrets:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("secrets", Secret) },
    faults: [],
    tool: { name: "list_secrets", destructive: false },
    handle: (work, { query }, parts) => listSecrets(work, parts, query),
  }),
];
