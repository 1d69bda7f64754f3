import { z } from "zod";
import { event } from "./event.ts";

const name = z.string().describe("The key's name.");
const scopes = (when: string) => z.array(z.string()).describe(`The rights that it ${when}.`);
const named = z.strictObject({ name });

/** API keys, and requests refused for missing rights. */
export const keyEvents = {
  api_key_created: event({
    meaning: "an API key was created",
    details: z.strictObject({ name, scopes: scopes("has"), type: z.enum(["live", "test"]) }),
    example: { name: "deploy", scopes: ["agents:read", "agents:write"], type: "live" },
  }),
  api_key_used: event({
    meaning: "a request was made with an API key",
    result: ({ status }) => {
      if (typeof status !== "number" || status < 400) return "success";
      return status === 403 ? "denied" : "failure";
    },
    details: z.strictObject({
      endpoint: z.string().describe("Method and path pattern."),
      old_value: z.literal(true).optional()
        .describe("Present when the request used the old value in its grace period."),
      status: z.int().describe("The HTTP status of the response."),
    }),
    example: { endpoint: "GET /api/v1/agents", status: 200 },
  }),
  api_key_updated: event({
    meaning: "the name, metadata, scopes or expiry of an API key were changed",
    details: z.strictObject({
      name,
      previous_name: z.string().optional().describe("Its name before, if that changed."),
      changed: z.array(z.enum(["name", "metadata", "scopes", "expires_at"])),
      scopes_before: scopes("had"),
      scopes_after: scopes("has now"),
      expires_at: z.iso.datetime().optional().describe("When it ends now, if that changed."),
      previous_expires_at: z.iso.datetime().optional()
        .describe("When it would have ended, if that changed."),
    }),
    example: {
      name: "deploy",
      changed: ["scopes"],
      scopes_before: ["agents:read", "agents:write"],
      scopes_after: ["agents:read"],
    },
  }),
  api_key_rotated: event({
    meaning: "an API key was rotated",
    details: z.strictObject({
      name,
      grace_period_hours: z.number().min(0).describe("How long the old value continues to work."),
    }),
    example: { name: "deploy", grace_period_hours: 24 },
  }),
  api_key_revoked: event({
    meaning: "an API key was revoked",
    details: named.extend({
      cascade: z.literal(true).optional()
        .describe(
          "Present when everything made with the key was ended too, reported by events of the same request.",
        ),
    }),
    example: { name: "deploy" },
  }),
  api_key_deleted: event({
    meaning: "an API key was deleted",
    details: named,
    example: { name: "deploy" },
  }),
  access_denied: event({
    meaning: "a request was refused: 403",
    result: "denied",
    details: z.strictObject({
      endpoint: z.string().describe("Method and path pattern."),
      required: z.array(z.string()).optional().describe("The rights that were missing."),
      space: z.literal("test").optional().describe(
        "Present when the request is not allowed in the test space.",
      ),
    }),
    example: { endpoint: "POST /api/v1/api-keys", required: ["system:write"] },
  }),
} as const;
