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
    watched: z.boolean().describe("True when its rules only watch."),
    rules: z.array(z.object({
      id: z.string(),
      enabled: z.boolean().describe("False also when its pack is disabled."),
      watched: z.boolean().describe("True when it only watches, also because its pack does."),
      fixed: z.boolean().describe("True when it always decides."),
      risk_score: z.int().describe("The score of the rule alone, on an agent without labels."),
      threat: z.string(),
      explanation: z.string(),
    })),
  })),
  disabled_packs: z.array(z.string()),
  disabled_rules: z.array(z.string()),
  watched_packs: z.array(z.string()),
  watched_rules: z.array(z.string()),
  policy_version: z.string(),
  pagination: Pagination,
}).meta({ id: "PatternList" });

const Switched = z.union([z.boolean(), z.literal("watch")]);

/** How to switch packs and rules. */
export const PatternChange = z.strictObject({
  packs: z.partialRecord(PackName, Switched).optional()
    .describe('For example `{ "production": "watch" }`.'),
  rules: z.record(RuleId, Switched).optional().describe(
    'For example `{ "services.stop": false }`.',
  ),
}).meta({ id: "PatternChange" });

export const patternRoutes = [
  route({
    id: "patterns.list",
    method: "GET",
    path: "/api/v1/patterns",
    summary: "List the shield's rules by pack",
    description:
      "Shows which rules are enabled by the organization's settings, including their policy. " +
      "`disabled_packs`, `disabled_rules`, `watched_packs` and `watched_rules` are what `PATCH` " +
      "switched. A policy from Git may " +
      "switch more rules for the agents it applies to.",
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
    summary: "Switch rule packs or rules on or off, or let them only watch",
    description:
      "A rule is enabled when neither it nor its pack is disabled. A rule that only watches is " +
      "named in `watched` of results and decides nothing. The rules for commands that cannot be " +
      "parsed, or not in time, always decide. Pending approval requests lapse.",
    access: { scope: "patterns:write" },
    effect: "write",
    audit: {
      event: "patterns_changed",
      resource: "shield",
      id: () => "patterns",
      details: ({ patterns: _patterns, pagination: _pagination, ...switched }) => switched,
    },
    bodyBytesMax: BODY_BYTES_MAX,
    body: PatternChange,
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
