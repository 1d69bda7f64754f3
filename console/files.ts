// Written by `deno task docs` from the files of console/app and core/client.
import file0 from "./app/api.ts" with { type: "text" };
import file1 from "./app/app.ts" with { type: "text" };
import file2 from "./app/components/badge.ts" with { type: "text" };
import file3 from "./app/components/checklist.ts" with { type: "text" };
import file4 from "./app/components/copy.ts" with { type: "text" };
import file5 from "./app/components/dialog.ts" with { type: "text" };
import file6 from "./app/components/diff.ts" with { type: "text" };
import file7 from "./app/components/explained.ts" with { type: "text" };
import file8 from "./app/components/form.ts" with { type: "text" };
import file9 from "./app/components/help.ts" with { type: "text" };
import file10 from "./app/components/names.ts" with { type: "text" };
import file11 from "./app/components/palette.ts" with { type: "text" };
import file12 from "./app/components/prose.ts" with { type: "text" };
import file13 from "./app/components/records.ts" with { type: "text" };
import file14 from "./app/components/sign_in_again.ts" with { type: "text" };
import file15 from "./app/components/states.ts" with { type: "text" };
import file16 from "./app/components/table.ts" with { type: "text" };
import file17 from "./app/components/time.ts" with { type: "text" };
import file18 from "./app/components/visible_text.ts" with { type: "text" };
import file19 from "./app/data.ts" with { type: "text" };
import file20 from "./app/frame.ts" with { type: "text" };
import file21 from "./app/html.ts" with { type: "text" };
import file22 from "./app/icon.svg" with { type: "text" };
import file23 from "./app/kept_checkpoint.ts" with { type: "text" };
import file24 from "./app/keys.ts" with { type: "text" };
import file25 from "./app/line_diff.ts" with { type: "text" };
import file26 from "./app/live/live.ts" with { type: "text" };
import file27 from "./app/main.ts" with { type: "text" };
import file28 from "./app/pages.ts" with { type: "text" };
import file29 from "./app/policy_candidate.ts" with { type: "text" };
import file30 from "./app/proof.ts" with { type: "text" };
import file31 from "./app/proof_steps.ts" with { type: "text" };
import file32 from "./app/router.ts" with { type: "text" };
import file33 from "./app/screens.ts" with { type: "text" };
import file34 from "./app/screens/connections/delivery.ts" with { type: "text" };
import file35 from "./app/screens/connections/devices.ts" with { type: "text" };
import file36 from "./app/screens/connections/integrations.ts" with { type: "text" };
import file37 from "./app/screens/connections/key.ts" with { type: "text" };
import file38 from "./app/screens/connections/keys.ts" with { type: "text" };
import file39 from "./app/screens/connections/webhook.ts" with { type: "text" };
import file40 from "./app/screens/connections/webhooks.ts" with { type: "text" };
import file41 from "./app/screens/entry/join.ts" with { type: "text" };
import file42 from "./app/screens/entry/reset.ts" with { type: "text" };
import file43 from "./app/screens/entry/sign_in.ts" with { type: "text" };
import file44 from "./app/screens/entry/sign_up.ts" with { type: "text" };
import file45 from "./app/screens/organization/host.ts" with { type: "text" };
import file46 from "./app/screens/organization/people.ts" with { type: "text" };
import file47 from "./app/screens/organization/settings.ts" with { type: "text" };
import file48 from "./app/screens/safety/alert.ts" with { type: "text" };
import file49 from "./app/screens/safety/alert_story.ts" with { type: "text" };
import file50 from "./app/screens/safety/alerts.ts" with { type: "text" };
import file51 from "./app/screens/safety/apply_plan.ts" with { type: "text" };
import file52 from "./app/screens/safety/audit.ts" with { type: "text" };
import file53 from "./app/screens/safety/audit_export.ts" with { type: "text" };
import file54 from "./app/screens/safety/audit_filters.ts" with { type: "text" };
import file55 from "./app/screens/safety/audit_head.ts" with { type: "text" };
import file56 from "./app/screens/safety/audit_row.ts" with { type: "text" };
import file57 from "./app/screens/safety/backups.ts" with { type: "text" };
import file58 from "./app/screens/safety/guard.ts" with { type: "text" };
import file59 from "./app/screens/safety/guard_summary.ts" with { type: "text" };
import file60 from "./app/screens/safety/guards.ts" with { type: "text" };
import file61 from "./app/screens/safety/playground.ts" with { type: "text" };
import file62 from "./app/screens/safety/playground_address.ts" with { type: "text" };
import file63 from "./app/screens/safety/playground_choices.ts" with { type: "text" };
import file64 from "./app/screens/safety/policies.ts" with { type: "text" };
import file65 from "./app/screens/safety/policy.ts" with { type: "text" };
import file66 from "./app/screens/safety/policy_diff.ts" with { type: "text" };
import file67 from "./app/screens/safety/policy_tabs.ts" with { type: "text" };
import file68 from "./app/screens/safety/replay_view.ts" with { type: "text" };
import file69 from "./app/screens/safety/reports/compliance.ts" with { type: "text" };
import file70 from "./app/screens/safety/reports/periods.ts" with { type: "text" };
import file71 from "./app/screens/safety/reports/report.ts" with { type: "text" };
import file72 from "./app/screens/safety/reports/report_controls.ts" with { type: "text" };
import file73 from "./app/screens/safety/reports/report_lists.ts" with { type: "text" };
import file74 from "./app/screens/safety/reports/report_types.ts" with { type: "text" };
import file75 from "./app/screens/safety/repositories.ts" with { type: "text" };
import file76 from "./app/screens/safety/repository_form.ts" with { type: "text" };
import file77 from "./app/screens/safety/rollback_plan.ts" with { type: "text" };
import file78 from "./app/screens/safety/shield/canary.ts" with { type: "text" };
import file79 from "./app/screens/safety/shield/patterns.ts" with { type: "text" };
import file80 from "./app/screens/safety/shield/self_approval.ts" with { type: "text" };
import file81 from "./app/screens/safety/shield/shield.ts" with { type: "text" };
import file82 from "./app/screens/safety/shield/shield_approvals.ts" with { type: "text" };
import file83 from "./app/screens/safety/shield/shield_modes.ts" with { type: "text" };
import file84 from "./app/screens/work/agent.ts" with { type: "text" };
import file85 from "./app/screens/work/agent_add.ts" with { type: "text" };
import file86 from "./app/screens/work/agents.ts" with { type: "text" };
import file87 from "./app/screens/work/approval.ts" with { type: "text" };
import file88 from "./app/screens/work/approvals.ts" with { type: "text" };
import file89 from "./app/screens/work/command.ts" with { type: "text" };
import file90 from "./app/screens/work/commands.ts" with { type: "text" };
import file91 from "./app/screens/work/fleet_command.ts" with { type: "text" };
import file92 from "./app/screens/work/overview.ts" with { type: "text" };
import file93 from "./app/screens/work/run.ts" with { type: "text" };
import file94 from "./app/session.ts" with { type: "text" };
import file95 from "./app/style.css" with { type: "text" };
import file96 from "../core/client/client.ts" with { type: "text" };
import file97 from "../core/client/error.ts" with { type: "text" };
import file98 from "../core/client/exchange.ts" with { type: "text" };
import file99 from "../core/client/operations.ts" with { type: "text" };
import file100 from "../core/client/platform.ts" with { type: "text" };
import file101 from "../core/client/retry.ts" with { type: "text" };
import file102 from "../core/client/sse.ts" with { type: "text" };
import file103 from "../core/client/stream.ts" with { type: "text" };
import file104 from "../core/client/types.ts" with { type: "text" };
import file105 from "../core/client/webhook.ts" with { type: "text" };
import library0 from "preact" with { type: "text" };
import library1 from "preact/hooks" with { type: "text" };
import library2 from "htm" with { type: "text" };
import library3 from "@preact/signals" with { type: "text" };
import library4 from "@preact/signals-core" with { type: "text" };

/** The console's own files, by their path in the repository. */
export const FILES: Readonly<Record<string, string>> = {
  "console/app/api.ts": file0,
  "console/app/app.ts": file1,
  "console/app/components/badge.ts": file2,
  "console/app/components/checklist.ts": file3,
  "console/app/components/copy.ts": file4,
  "console/app/components/dialog.ts": file5,
  "console/app/components/diff.ts": file6,
  "console/app/components/explained.ts": file7,
  "console/app/components/form.ts": file8,
  "console/app/components/help.ts": file9,
  "console/app/components/names.ts": file10,
  "console/app/components/palette.ts": file11,
  "console/app/components/prose.ts": file12,
  "console/app/components/records.ts": file13,
  "console/app/components/sign_in_again.ts": file14,
  "console/app/components/states.ts": file15,
  "console/app/components/table.ts": file16,
  "console/app/components/time.ts": file17,
  "console/app/components/visible_text.ts": file18,
  "console/app/data.ts": file19,
  "console/app/frame.ts": file20,
  "console/app/html.ts": file21,
  "console/app/icon.svg": file22,
  "console/app/kept_checkpoint.ts": file23,
  "console/app/keys.ts": file24,
  "console/app/line_diff.ts": file25,
  "console/app/live/live.ts": file26,
  "console/app/main.ts": file27,
  "console/app/pages.ts": file28,
  "console/app/policy_candidate.ts": file29,
  "console/app/proof.ts": file30,
  "console/app/proof_steps.ts": file31,
  "console/app/router.ts": file32,
  "console/app/screens.ts": file33,
  "console/app/screens/connections/delivery.ts": file34,
  "console/app/screens/connections/devices.ts": file35,
  "console/app/screens/connections/integrations.ts": file36,
  "console/app/screens/connections/key.ts": file37,
  "console/app/screens/connections/keys.ts": file38,
  "console/app/screens/connections/webhook.ts": file39,
  "console/app/screens/connections/webhooks.ts": file40,
  "console/app/screens/entry/join.ts": file41,
  "console/app/screens/entry/reset.ts": file42,
  "console/app/screens/entry/sign_in.ts": file43,
  "console/app/screens/entry/sign_up.ts": file44,
  "console/app/screens/organization/host.ts": file45,
  "console/app/screens/organization/people.ts": file46,
  "console/app/screens/organization/settings.ts": file47,
  "console/app/screens/safety/alert.ts": file48,
  "console/app/screens/safety/alert_story.ts": file49,
  "console/app/screens/safety/alerts.ts": file50,
  "console/app/screens/safety/apply_plan.ts": file51,
  "console/app/screens/safety/audit.ts": file52,
  "console/app/screens/safety/audit_export.ts": file53,
  "console/app/screens/safety/audit_filters.ts": file54,
  "console/app/screens/safety/audit_head.ts": file55,
  "console/app/screens/safety/audit_row.ts": file56,
  "console/app/screens/safety/backups.ts": file57,
  "console/app/screens/safety/guard.ts": file58,
  "console/app/screens/safety/guard_summary.ts": file59,
  "console/app/screens/safety/guards.ts": file60,
  "console/app/screens/safety/playground.ts": file61,
  "console/app/screens/safety/playground_address.ts": file62,
  "console/app/screens/safety/playground_choices.ts": file63,
  "console/app/screens/safety/policies.ts": file64,
  "console/app/screens/safety/policy.ts": file65,
  "console/app/screens/safety/policy_diff.ts": file66,
  "console/app/screens/safety/policy_tabs.ts": file67,
  "console/app/screens/safety/replay_view.ts": file68,
  "console/app/screens/safety/reports/compliance.ts": file69,
  "console/app/screens/safety/reports/periods.ts": file70,
  "console/app/screens/safety/reports/report.ts": file71,
  "console/app/screens/safety/reports/report_controls.ts": file72,
  "console/app/screens/safety/reports/report_lists.ts": file73,
  "console/app/screens/safety/reports/report_types.ts": file74,
  "console/app/screens/safety/repositories.ts": file75,
  "console/app/screens/safety/repository_form.ts": file76,
  "console/app/screens/safety/rollback_plan.ts": file77,
  "console/app/screens/safety/shield/canary.ts": file78,
  "console/app/screens/safety/shield/patterns.ts": file79,
  "console/app/screens/safety/shield/self_approval.ts": file80,
  "console/app/screens/safety/shield/shield.ts": file81,
  "console/app/screens/safety/shield/shield_approvals.ts": file82,
  "console/app/screens/safety/shield/shield_modes.ts": file83,
  "console/app/screens/work/agent.ts": file84,
  "console/app/screens/work/agent_add.ts": file85,
  "console/app/screens/work/agents.ts": file86,
  "console/app/screens/work/approval.ts": file87,
  "console/app/screens/work/approvals.ts": file88,
  "console/app/screens/work/command.ts": file89,
  "console/app/screens/work/commands.ts": file90,
  "console/app/screens/work/fleet_command.ts": file91,
  "console/app/screens/work/overview.ts": file92,
  "console/app/screens/work/run.ts": file93,
  "console/app/session.ts": file94,
  "console/app/style.css": file95,
  "core/client/client.ts": file96,
  "core/client/error.ts": file97,
  "core/client/exchange.ts": file98,
  "core/client/operations.ts": file99,
  "core/client/platform.ts": file100,
  "core/client/retry.ts": file101,
  "core/client/sse.ts": file102,
  "core/client/stream.ts": file103,
  "core/client/types.ts": file104,
  "core/client/webhook.ts": file105,
};

/** The libraries that they import by name. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  "lib/preact.js": library0,
  "lib/preact/hooks.js": library1,
  "lib/htm.js": library2,
  "lib/@preact/signals.js": library3,
  "lib/@preact/signals-core.js": library4,
};
