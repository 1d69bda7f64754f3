import { z } from "zod";
import { approvedAgents, id, instant } from "./fields.ts";
import { event } from "./event.ts";

const asked = z.string().describe("The id of the user who requested it.");

/** Self-approval of requests. */
export const selfApprovalEvents = {
  self_approval_requested: event({
    meaning: "a request to allow self-approval awaits a second administrator",
    details: z.strictObject({
      change_id: id("change"),
      requested_by: asked,
      expires_at: instant("it expires"),
    }),
    example: {
      change_id: "chg_0m3xk",
      requested_by: "usr_0m3x1",
      expires_at: "2026-02-01T12:00:00.000Z",
    },
  }),
  self_approval_allowed: event({
    meaning: "self-approval was allowed",
    details: z.strictObject({
      requested_by: asked,
      confirmed_by: z.string().nullable().describe(
        "The id of the user who confirmed it; null when nobody else could.",
      ),
    }),
    example: { requested_by: "usr_0m3x1", confirmed_by: "usr_0m3x8" },
  }),
  self_approval_given: event({
    meaning: "somebody who may have made a request approved it",
    details: z.strictObject({
      agents: approvedAgents,
      pid: id("blocked process"),
      command_id: id("command"),
      decided_by: z.string().describe("Who approved: a user, an API key or a Telegram link."),
      requested_by: z.string().describe("Who asked for the command: a user or an API key."),
      reason: z.string().nullable().describe("The reason they gave."),
      allowed_by: z.enum(["settings", "sole_member"]).describe(
        "What allowed it: `approvals.self_approval` of the settings, or a confirmation in person " +
          "by the only member that the organization ever had.",
      ),
    }),
    example: {
      pid: "prc_0m3x4",
      command_id: "cmd_0m3x9",
      decided_by: "usr_0m3x1",
      requested_by: "key_0m3x7",
      reason: "planned maintenance",
      allowed_by: "sole_member",
    },
  }),
  self_approval_refused: event({
    meaning: "a request to allow self-approval was refused or withdrawn",
    result: "denied",
    details: z.strictObject({
      change_id: id("change"),
      requested_by: asked,
      refused_by: z.string().describe("The user or API key that refused or withdrew it."),
    }),
    example: { change_id: "chg_0m3xk", requested_by: "usr_0m3x1", refused_by: "usr_0m3x8" },
  }),
} as const;
