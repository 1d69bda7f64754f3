import { z } from "zod";
import { listPatterns, switchPatterns } from "../core/agents/agents.ts";
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
      enabled: z.boolean().describe("False also when its pack is disabled."),
      fixed: z.boolean().describe("True when it cannot be disabled."),
      risk_score: z.int().describe("The score of the rule alone, on an agent without labels."),
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
    summary: "List the shield's rules by pack",
    description:
      "Shows which rules are enabled by the organization's settings, including their policy. " +
      "`disabled_packs` and `disabled_rules` are what `PATCH` disabled. A policy from Git may " +
      "disable more rules for the agents it applies to.",
    access: { scope: "patterns:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: Patterns },
    faults: [],
    tool: { name: "list_patterns", destructive: false },
    handle: (work, { query }) => listPatterns(work, query),
  }),
  route({
    id: "patterns.switch",
    method: "PATCH",
    path: "/api/v1/patterns",
    summary: "Enable or disable rule packs or rules",
    description:
      "A rule is enabled when neither it nor its pack is disabled. The rules for commands that " +
      "cannot be parsed, or not in time, cannot be disabled. Pending approval requests lapse.",
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
        .describe('For example `{ "kubernetes": false }`.'),
      rules: z.record(RuleId, z.boolean()).optional().describe(
        'For example `{ "services.stop": false }`.',
      ),
    }),
    rules: {
      "body.packs": "must name packs of the list",
      "body.rules": "must name rules of the list",
    },
    success: { status: 200, body: Patterns },
    faults: [],
    tool: { name: "switch_patterns", destructive: true },
    handle: (work, { body }) => switchPatterns(work, body),
  }),
];
