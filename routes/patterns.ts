import { z } from "zod";
import { listPatterns, switchPatterns } from "../core/commands/commands.ts";
import { PackName, RuleId } from "../core/shield/shield.ts";
import { route } from "./call/route.ts";
import { PageQuery, Pagination } from "./schemas/schemas.ts";

/** The largest body in bytes: ten times a request that switches every rule. */
const BODY_BYTES_MAX = 64 * 1024;

const Patterns = z.object({
  patterns: z.array(z.object({
    pack: PackName,
    enabled: z.boolean(),
    rules: z.array(z.object({
      id: z.string(),
      enabled: z.boolean().describe("False too when its pack is switched off."),
      fixed: z.boolean().describe("It always counts."),
      risk_score: z.int().describe("By itself, on an agent without labels."),
      threat: z.string(),
      explanation: z.string(),
    })),
  })),
  disabled_packs: z.array(z.string()),
  disabled_rules: z.array(z.string()),
  policy_version: z.string(),
  pagination: Pagination,
}).meta({ id: "PatternList" });

export const patternRoutes = [
  route({
    id: "patterns.list",
    method: "GET",
    path: "/api/v1/patterns",
    summary: "List the shield's rule packs with their rules, and which of them count",
    description:
      "As the organization's settings say, their policy among them: `disabled_packs` and " +
      "`disabled_rules` are what `PATCH` switched off. A policy from Git may switch more of them " +
      "off for the agents that it concerns.",
    access: { scope: "patterns:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: Patterns },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }) => listPatterns(work, query),
  }),
  route({
    id: "patterns.switch",
    method: "PATCH",
    path: "/api/v1/patterns",
    summary: "Switch rule packs or single rules on and off; waiting requests for approval lapse",
    description:
      "A rule counts when neither it nor its pack is switched off. What cannot be parsed, or is too " +
      "tangled to be read in time, is never allowed unseen: its rules cannot be switched off.",
    access: { scope: "patterns:write" },
    effect: "write",
    audit: {
      event: "patterns_changed",
      resource: "shield",
      id: () => "patterns",
      details: ({ disabled_packs, disabled_rules, policy_version }) => ({
        disabled_packs,
        disabled_rules,
        policy_version,
      }),
    },
    bodyBytesMax: BODY_BYTES_MAX,
    body: z.strictObject({
      packs: z.partialRecord(PackName, z.boolean()).optional()
        .describe('Such as `{ "kubernetes": false }`.'),
      rules: z.record(RuleId, z.boolean()).optional().describe(
        'Such as `{ "services.stop": false }`.',
      ),
    }),
    rules: {
      "body.packs": "names packs of the list",
      "body.rules": "names rules of the list",
    },
    success: { status: 200, body: Patterns },
    faults: [],
    tool: { destructive: true },
    handle: (work, { body }) => switchPatterns(work, body),
  }),
];
