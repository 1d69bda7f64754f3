// Written by `deno task docs` from the files of console/app and core/client.
import file0 from "./app/api.ts" with { type: "text" };
import file1 from "./app/app.ts" with { type: "text" };
import file2 from "./app/components/badge.ts" with { type: "text" };
import file3 from "./app/components/chart.ts" with { type: "text" };
import file4 from "./app/components/checklist.ts" with { type: "text" };
import file5 from "./app/components/command/command_run.ts" with { type: "text" };
import file6 from "./app/components/command/fleet_run.ts" with { type: "text" };
import file7 from "./app/components/command/output.ts" with { type: "text" };
import file8 from "./app/components/copy.ts" with { type: "text" };
import file9 from "./app/components/dialog.ts" with { type: "text" };
import file10 from "./app/components/draft.ts" with { type: "text" };
import file11 from "./app/components/duration.ts" with { type: "text" };
import file12 from "./app/components/exact_command.ts" with { type: "text" };
import file13 from "./app/components/filters.ts" with { type: "text" };
import file14 from "./app/components/form.ts" with { type: "text" };
import file15 from "./app/components/help.ts" with { type: "text" };
import file16 from "./app/components/hidden_characters.ts" with { type: "text" };
import file17 from "./app/components/inputs.ts" with { type: "text" };
import file18 from "./app/components/instants.ts" with { type: "text" };
import file19 from "./app/components/limit_words.ts" with { type: "text" };
import file20 from "./app/components/names.ts" with { type: "text" };
import file21 from "./app/components/palette.ts" with { type: "text" };
import file22 from "./app/components/rights_choice.ts" with { type: "text" };
import file23 from "./app/components/scale.ts" with { type: "text" };
import file24 from "./app/components/scopes.ts" with { type: "text" };
import file25 from "./app/components/shown_once.ts" with { type: "text" };
import file26 from "./app/components/sign_in_again.ts" with { type: "text" };
import file27 from "./app/components/states.ts" with { type: "text" };
import file28 from "./app/components/story.ts" with { type: "text" };
import file29 from "./app/components/table.ts" with { type: "text" };
import file30 from "./app/components/time.ts" with { type: "text" };
import file31 from "./app/components/verdict.ts" with { type: "text" };
import file32 from "./app/components/visible_text.ts" with { type: "text" };
import file33 from "./app/data.ts" with { type: "text" };
import file34 from "./app/draft.ts" with { type: "text" };
import file35 from "./app/frame.ts" with { type: "text" };
import file36 from "./app/icon.svg" with { type: "text" };
import file37 from "./app/keys.ts" with { type: "text" };
import file38 from "./app/labels.ts" with { type: "text" };
import file39 from "./app/layers.ts" with { type: "text" };
import file40 from "./app/line_diff.ts" with { type: "text" };
import file41 from "./app/live/channel.ts" with { type: "text" };
import file42 from "./app/live/follows.ts" with { type: "text" };
import file43 from "./app/live/host.ts" with { type: "text" };
import file44 from "./app/live/hub.ts" with { type: "text" };
import file45 from "./app/live/link.ts" with { type: "text" };
import file46 from "./app/live/live.ts" with { type: "text" };
import file47 from "./app/live/messages.ts" with { type: "text" };
import file48 from "./app/live/worker.ts" with { type: "text" };
import file49 from "./app/main.ts" with { type: "text" };
import file50 from "./app/output_buffer.ts" with { type: "text" };
import file51 from "./app/page_list.ts" with { type: "text" };
import file52 from "./app/pages.ts" with { type: "text" };
import file53 from "./app/pairing.ts" with { type: "text" };
import file54 from "./app/policy_candidate.ts" with { type: "text" };
import file55 from "./app/proof/hashes.ts" with { type: "text" };
import file56 from "./app/proof/head.ts" with { type: "text" };
import file57 from "./app/proof/kept_checkpoint.ts" with { type: "text" };
import file58 from "./app/proof/notes.ts" with { type: "text" };
import file59 from "./app/proof/report.ts" with { type: "text" };
import file60 from "./app/proof/row.ts" with { type: "text" };
import file61 from "./app/proof/steps.ts" with { type: "text" };
import file62 from "./app/proof/tree.ts" with { type: "text" };
import file63 from "./app/repeat.ts" with { type: "text" };
import file64 from "./app/router.ts" with { type: "text" };
import file65 from "./app/save.ts" with { type: "text" };
import file66 from "./app/screen.ts" with { type: "text" };
import file67 from "./app/screens.ts" with { type: "text" };
import file68 from "./app/screens/connections/delivery.ts" with { type: "text" };
import file69 from "./app/screens/connections/device_dialog.ts" with { type: "text" };
import file70 from "./app/screens/connections/devices.ts" with { type: "text" };
import file71 from "./app/screens/connections/integration/card.ts" with { type: "text" };
import file72 from "./app/screens/connections/integration/config_fields.ts" with { type: "text" };
import file73 from "./app/screens/connections/integration/install.ts" with { type: "text" };
import file74 from "./app/screens/connections/integrations.ts" with { type: "text" };
import file75 from "./app/screens/connections/key.ts" with { type: "text" };
import file76 from "./app/screens/connections/key/change.ts" with { type: "text" };
import file77 from "./app/screens/connections/key/create.ts" with { type: "text" };
import file78 from "./app/screens/connections/key/explanation.ts" with { type: "text" };
import file79 from "./app/screens/connections/key/revoke.ts" with { type: "text" };
import file80 from "./app/screens/connections/key/rotate.ts" with { type: "text" };
import file81 from "./app/screens/connections/key/usage.ts" with { type: "text" };
import file82 from "./app/screens/connections/keys.ts" with { type: "text" };
import file83 from "./app/screens/connections/pairing_codes.ts" with { type: "text" };
import file84 from "./app/screens/connections/suspended.ts" with { type: "text" };
import file85 from "./app/screens/connections/webhook.ts" with { type: "text" };
import file86 from "./app/screens/connections/webhook/body.ts" with { type: "text" };
import file87 from "./app/screens/connections/webhook/create.ts" with { type: "text" };
import file88 from "./app/screens/connections/webhook/deliveries.ts" with { type: "text" };
import file89 from "./app/screens/connections/webhook/delivery_words.ts" with { type: "text" };
import file90 from "./app/screens/connections/webhook/event_choice.ts" with { type: "text" };
import file91 from "./app/screens/connections/webhook/header_lines.ts" with { type: "text" };
import file92 from "./app/screens/connections/webhook/headers_field.ts" with { type: "text" };
import file93 from "./app/screens/connections/webhook/recover.ts" with { type: "text" };
import file94 from "./app/screens/connections/webhook/settings.ts" with { type: "text" };
import file95 from "./app/screens/connections/webhook/signature_help.ts" with { type: "text" };
import file96 from "./app/screens/connections/webhook/signature_snippets.ts" with { type: "text" };
import file97 from "./app/screens/connections/webhook/test_send.ts" with { type: "text" };
import file98 from "./app/screens/connections/webhooks.ts" with { type: "text" };
import file99 from "./app/screens/entry/authorize.ts" with { type: "text" };
import file100 from "./app/screens/entry/join.ts" with { type: "text" };
import file101 from "./app/screens/entry/parts.ts" with { type: "text" };
import file102 from "./app/screens/entry/reset.ts" with { type: "text" };
import file103 from "./app/screens/entry/sign_in.ts" with { type: "text" };
import file104 from "./app/screens/entry/sign_up.ts" with { type: "text" };
import file105 from "./app/screens/organization/host.ts" with { type: "text" };
import file106 from "./app/screens/organization/host/account.ts" with { type: "text" };
import file107 from "./app/screens/organization/host/accounts.ts" with { type: "text" };
import file108 from "./app/screens/organization/host/configuration.ts" with { type: "text" };
import file109 from "./app/screens/organization/host/figures.ts" with { type: "text" };
import file110 from "./app/screens/organization/host/health.ts" with { type: "text" };
import file111 from "./app/screens/organization/host/limits.ts" with { type: "text" };
import file112 from "./app/screens/organization/host/orders.ts" with { type: "text" };
import file113 from "./app/screens/organization/host/plans.ts" with { type: "text" };
import file114 from "./app/screens/organization/invitation_create.ts" with { type: "text" };
import file115 from "./app/screens/organization/invitations.ts" with { type: "text" };
import file116 from "./app/screens/organization/my_notifications.ts" with { type: "text" };
import file117 from "./app/screens/organization/my_sessions.ts" with { type: "text" };
import file118 from "./app/screens/organization/organization_settings.ts" with { type: "text" };
import file119 from "./app/screens/organization/password.ts" with { type: "text" };
import file120 from "./app/screens/organization/password_link.ts" with { type: "text" };
import file121 from "./app/screens/organization/people.ts" with { type: "text" };
import file122 from "./app/screens/organization/permissions.ts" with { type: "text" };
import file123 from "./app/screens/organization/person.ts" with { type: "text" };
import file124 from "./app/screens/organization/profile.ts" with { type: "text" };
import file125 from "./app/screens/organization/qr_code.ts" with { type: "text" };
import file126 from "./app/screens/organization/roles.ts" with { type: "text" };
import file127 from "./app/screens/organization/second_factor.ts" with { type: "text" };
import file128 from "./app/screens/organization/second_factor_enrol.ts" with { type: "text" };
import file129 from "./app/screens/organization/secrets.ts" with { type: "text" };
import file130 from "./app/screens/organization/settings.ts" with { type: "text" };
import file131 from "./app/screens/organization/telegram_links.ts" with { type: "text" };
import file132 from "./app/screens/safety/alert.ts" with { type: "text" };
import file133 from "./app/screens/safety/alert_story.ts" with { type: "text" };
import file134 from "./app/screens/safety/alerts.ts" with { type: "text" };
import file135 from "./app/screens/safety/apply_plan.ts" with { type: "text" };
import file136 from "./app/screens/safety/audit.ts" with { type: "text" };
import file137 from "./app/screens/safety/audit_export.ts" with { type: "text" };
import file138 from "./app/screens/safety/audit_filters.ts" with { type: "text" };
import file139 from "./app/screens/safety/audit_head.ts" with { type: "text" };
import file140 from "./app/screens/safety/audit_row.ts" with { type: "text" };
import file141 from "./app/screens/safety/backups.ts" with { type: "text" };
import file142 from "./app/screens/safety/diff.ts" with { type: "text" };
import file143 from "./app/screens/safety/explained.ts" with { type: "text" };
import file144 from "./app/screens/safety/guard.ts" with { type: "text" };
import file145 from "./app/screens/safety/guard_summary.ts" with { type: "text" };
import file146 from "./app/screens/safety/guards.ts" with { type: "text" };
import file147 from "./app/screens/safety/playground.ts" with { type: "text" };
import file148 from "./app/screens/safety/playground_address.ts" with { type: "text" };
import file149 from "./app/screens/safety/playground_choices.ts" with { type: "text" };
import file150 from "./app/screens/safety/policies.ts" with { type: "text" };
import file151 from "./app/screens/safety/policy.ts" with { type: "text" };
import file152 from "./app/screens/safety/policy_diff.ts" with { type: "text" };
import file153 from "./app/screens/safety/policy_tabs.ts" with { type: "text" };
import file154 from "./app/screens/safety/replay_view.ts" with { type: "text" };
import file155 from "./app/screens/safety/reports/compliance.ts" with { type: "text" };
import file156 from "./app/screens/safety/reports/periods.ts" with { type: "text" };
import file157 from "./app/screens/safety/reports/prose.ts" with { type: "text" };
import file158 from "./app/screens/safety/reports/records.ts" with { type: "text" };
import file159 from "./app/screens/safety/reports/report.ts" with { type: "text" };
import file160 from "./app/screens/safety/reports/report_controls.ts" with { type: "text" };
import file161 from "./app/screens/safety/reports/report_lists.ts" with { type: "text" };
import file162 from "./app/screens/safety/reports/report_types.ts" with { type: "text" };
import file163 from "./app/screens/safety/repositories.ts" with { type: "text" };
import file164 from "./app/screens/safety/repository_form.ts" with { type: "text" };
import file165 from "./app/screens/safety/rollback_plan.ts" with { type: "text" };
import file166 from "./app/screens/safety/shield/canary.ts" with { type: "text" };
import file167 from "./app/screens/safety/shield/patterns.ts" with { type: "text" };
import file168 from "./app/screens/safety/shield/self_approval.ts" with { type: "text" };
import file169 from "./app/screens/safety/shield/shield.ts" with { type: "text" };
import file170 from "./app/screens/safety/shield/shield_approvals.ts" with { type: "text" };
import file171 from "./app/screens/safety/shield/shield_modes.ts" with { type: "text" };
import file172 from "./app/screens/safety/shield/suggestions.ts" with { type: "text" };
import file173 from "./app/screens/work/agent.ts" with { type: "text" };
import file174 from "./app/screens/work/agent/commands.ts" with { type: "text" };
import file175 from "./app/screens/work/agent/drift.ts" with { type: "text" };
import file176 from "./app/screens/work/agent/guard.ts" with { type: "text" };
import file177 from "./app/screens/work/agent/labels.ts" with { type: "text" };
import file178 from "./app/screens/work/agent/labels_field.ts" with { type: "text" };
import file179 from "./app/screens/work/agent/manage.ts" with { type: "text" };
import file180 from "./app/screens/work/agent/pairing.ts" with { type: "text" };
import file181 from "./app/screens/work/agent/upgrade.ts" with { type: "text" };
import file182 from "./app/screens/work/agent_add.ts" with { type: "text" };
import file183 from "./app/screens/work/agents.ts" with { type: "text" };
import file184 from "./app/screens/work/approval.ts" with { type: "text" };
import file185 from "./app/screens/work/approval/about.ts" with { type: "text" };
import file186 from "./app/screens/work/approval/decide.ts" with { type: "text" };
import file187 from "./app/screens/work/approval/held_agents.ts" with { type: "text" };
import file188 from "./app/screens/work/approval/result.ts" with { type: "text" };
import file189 from "./app/screens/work/approval/votes.ts" with { type: "text" };
import file190 from "./app/screens/work/approvals.ts" with { type: "text" };
import file191 from "./app/screens/work/command.ts" with { type: "text" };
import file192 from "./app/screens/work/command/facts.ts" with { type: "text" };
import file193 from "./app/screens/work/command/filters.ts" with { type: "text" };
import file194 from "./app/screens/work/command/receipt.ts" with { type: "text" };
import file195 from "./app/screens/work/command/states.ts" with { type: "text" };
import file196 from "./app/screens/work/commands.ts" with { type: "text" };
import file197 from "./app/screens/work/fleet_command.ts" with { type: "text" };
import file198 from "./app/screens/work/overview.ts" with { type: "text" };
import file199 from "./app/screens/work/overview/agents_card.ts" with { type: "text" };
import file200 from "./app/screens/work/overview/audit_card.ts" with { type: "text" };
import file201 from "./app/screens/work/overview/card.ts" with { type: "text" };
import file202 from "./app/screens/work/overview/first_run.ts" with { type: "text" };
import file203 from "./app/screens/work/overview/list_cards.ts" with { type: "text" };
import file204 from "./app/screens/work/overview/waiting_card.ts" with { type: "text" };
import file205 from "./app/screens/work/overview/watching_note.ts" with { type: "text" };
import file206 from "./app/screens/work/overview/webhooks_card.ts" with { type: "text" };
import file207 from "./app/screens/work/run.ts" with { type: "text" };
import file208 from "./app/screens/work/run/agent_picker.ts" with { type: "text" };
import file209 from "./app/screens/work/run/choices.ts" with { type: "text" };
import file210 from "./app/screens/work/run/history.ts" with { type: "text" };
import file211 from "./app/screens/work/run/options.ts" with { type: "text" };
import file212 from "./app/screens/work/run/picked.ts" with { type: "text" };
import file213 from "./app/screens/work/run/shield_hint.ts" with { type: "text" };
import file214 from "./app/screens/work/run/started_card.ts" with { type: "text" };
import file215 from "./app/screens/work/run/state.ts" with { type: "text" };
import file216 from "./app/screens/work/run/target.ts" with { type: "text" };
import file217 from "./app/session.ts" with { type: "text" };
import file218 from "./app/space.ts" with { type: "text" };
import file219 from "./app/style.css" with { type: "text" };
import file220 from "../core/client/client.ts" with { type: "text" };
import file221 from "../core/client/error.ts" with { type: "text" };
import file222 from "../core/client/exchange.ts" with { type: "text" };
import file223 from "../core/client/operations.ts" with { type: "text" };
import file224 from "../core/client/platform.ts" with { type: "text" };
import file225 from "../core/client/retry.ts" with { type: "text" };
import file226 from "../core/client/sse.ts" with { type: "text" };
import file227 from "../core/client/stream.ts" with { type: "text" };
import file228 from "../core/client/types.ts" with { type: "text" };
import file229 from "../core/client/webhook.ts" with { type: "text" };
import library0 from "preact" with { type: "text" };
import library1 from "preact/hooks" with { type: "text" };
import library2 from "htm" with { type: "text" };
import library3 from "htm/preact" with { type: "text" };
import library4 from "@preact/signals" with { type: "text" };
import library5 from "@preact/signals-core" with { type: "text" };
import library6 from "uqr" with { type: "text" };

/** The console's own files, by their path in the repository. */
export const FILES: Readonly<Record<string, string>> = {
  "console/app/api.ts": file0,
  "console/app/app.ts": file1,
  "console/app/components/badge.ts": file2,
  "console/app/components/chart.ts": file3,
  "console/app/components/checklist.ts": file4,
  "console/app/components/command/command_run.ts": file5,
  "console/app/components/command/fleet_run.ts": file6,
  "console/app/components/command/output.ts": file7,
  "console/app/components/copy.ts": file8,
  "console/app/components/dialog.ts": file9,
  "console/app/components/draft.ts": file10,
  "console/app/components/duration.ts": file11,
  "console/app/components/exact_command.ts": file12,
  "console/app/components/filters.ts": file13,
  "console/app/components/form.ts": file14,
  "console/app/components/help.ts": file15,
  "console/app/components/hidden_characters.ts": file16,
  "console/app/components/inputs.ts": file17,
  "console/app/components/instants.ts": file18,
  "console/app/components/limit_words.ts": file19,
  "console/app/components/names.ts": file20,
  "console/app/components/palette.ts": file21,
  "console/app/components/rights_choice.ts": file22,
  "console/app/components/scale.ts": file23,
  "console/app/components/scopes.ts": file24,
  "console/app/components/shown_once.ts": file25,
  "console/app/components/sign_in_again.ts": file26,
  "console/app/components/states.ts": file27,
  "console/app/components/story.ts": file28,
  "console/app/components/table.ts": file29,
  "console/app/components/time.ts": file30,
  "console/app/components/verdict.ts": file31,
  "console/app/components/visible_text.ts": file32,
  "console/app/data.ts": file33,
  "console/app/draft.ts": file34,
  "console/app/frame.ts": file35,
  "console/app/icon.svg": file36,
  "console/app/keys.ts": file37,
  "console/app/labels.ts": file38,
  "console/app/layers.ts": file39,
  "console/app/line_diff.ts": file40,
  "console/app/live/channel.ts": file41,
  "console/app/live/follows.ts": file42,
  "console/app/live/host.ts": file43,
  "console/app/live/hub.ts": file44,
  "console/app/live/link.ts": file45,
  "console/app/live/live.ts": file46,
  "console/app/live/messages.ts": file47,
  "console/app/live/worker.ts": file48,
  "console/app/main.ts": file49,
  "console/app/output_buffer.ts": file50,
  "console/app/page_list.ts": file51,
  "console/app/pages.ts": file52,
  "console/app/pairing.ts": file53,
  "console/app/policy_candidate.ts": file54,
  "console/app/proof/hashes.ts": file55,
  "console/app/proof/head.ts": file56,
  "console/app/proof/kept_checkpoint.ts": file57,
  "console/app/proof/notes.ts": file58,
  "console/app/proof/report.ts": file59,
  "console/app/proof/row.ts": file60,
  "console/app/proof/steps.ts": file61,
  "console/app/proof/tree.ts": file62,
  "console/app/repeat.ts": file63,
  "console/app/router.ts": file64,
  "console/app/save.ts": file65,
  "console/app/screen.ts": file66,
  "console/app/screens.ts": file67,
  "console/app/screens/connections/delivery.ts": file68,
  "console/app/screens/connections/device_dialog.ts": file69,
  "console/app/screens/connections/devices.ts": file70,
  "console/app/screens/connections/integration/card.ts": file71,
  "console/app/screens/connections/integration/config_fields.ts": file72,
  "console/app/screens/connections/integration/install.ts": file73,
  "console/app/screens/connections/integrations.ts": file74,
  "console/app/screens/connections/key.ts": file75,
  "console/app/screens/connections/key/change.ts": file76,
  "console/app/screens/connections/key/create.ts": file77,
  "console/app/screens/connections/key/explanation.ts": file78,
  "console/app/screens/connections/key/revoke.ts": file79,
  "console/app/screens/connections/key/rotate.ts": file80,
  "console/app/screens/connections/key/usage.ts": file81,
  "console/app/screens/connections/keys.ts": file82,
  "console/app/screens/connections/pairing_codes.ts": file83,
  "console/app/screens/connections/suspended.ts": file84,
  "console/app/screens/connections/webhook.ts": file85,
  "console/app/screens/connections/webhook/body.ts": file86,
  "console/app/screens/connections/webhook/create.ts": file87,
  "console/app/screens/connections/webhook/deliveries.ts": file88,
  "console/app/screens/connections/webhook/delivery_words.ts": file89,
  "console/app/screens/connections/webhook/event_choice.ts": file90,
  "console/app/screens/connections/webhook/header_lines.ts": file91,
  "console/app/screens/connections/webhook/headers_field.ts": file92,
  "console/app/screens/connections/webhook/recover.ts": file93,
  "console/app/screens/connections/webhook/settings.ts": file94,
  "console/app/screens/connections/webhook/signature_help.ts": file95,
  "console/app/screens/connections/webhook/signature_snippets.ts": file96,
  "console/app/screens/connections/webhook/test_send.ts": file97,
  "console/app/screens/connections/webhooks.ts": file98,
  "console/app/screens/entry/authorize.ts": file99,
  "console/app/screens/entry/join.ts": file100,
  "console/app/screens/entry/parts.ts": file101,
  "console/app/screens/entry/reset.ts": file102,
  "console/app/screens/entry/sign_in.ts": file103,
  "console/app/screens/entry/sign_up.ts": file104,
  "console/app/screens/organization/host.ts": file105,
  "console/app/screens/organization/host/account.ts": file106,
  "console/app/screens/organization/host/accounts.ts": file107,
  "console/app/screens/organization/host/configuration.ts": file108,
  "console/app/screens/organization/host/figures.ts": file109,
  "console/app/screens/organization/host/health.ts": file110,
  "console/app/screens/organization/host/limits.ts": file111,
  "console/app/screens/organization/host/orders.ts": file112,
  "console/app/screens/organization/host/plans.ts": file113,
  "console/app/screens/organization/invitation_create.ts": file114,
  "console/app/screens/organization/invitations.ts": file115,
  "console/app/screens/organization/my_notifications.ts": file116,
  "console/app/screens/organization/my_sessions.ts": file117,
  "console/app/screens/organization/organization_settings.ts": file118,
  "console/app/screens/organization/password.ts": file119,
  "console/app/screens/organization/password_link.ts": file120,
  "console/app/screens/organization/people.ts": file121,
  "console/app/screens/organization/permissions.ts": file122,
  "console/app/screens/organization/person.ts": file123,
  "console/app/screens/organization/profile.ts": file124,
  "console/app/screens/organization/qr_code.ts": file125,
  "console/app/screens/organization/roles.ts": file126,
  "console/app/screens/organization/second_factor.ts": file127,
  "console/app/screens/organization/second_factor_enrol.ts": file128,
  "console/app/screens/organization/secrets.ts": file129,
  "console/app/screens/organization/settings.ts": file130,
  "console/app/screens/organization/telegram_links.ts": file131,
  "console/app/screens/safety/alert.ts": file132,
  "console/app/screens/safety/alert_story.ts": file133,
  "console/app/screens/safety/alerts.ts": file134,
  "console/app/screens/safety/apply_plan.ts": file135,
  "console/app/screens/safety/audit.ts": file136,
  "console/app/screens/safety/audit_export.ts": file137,
  "console/app/screens/safety/audit_filters.ts": file138,
  "console/app/screens/safety/audit_head.ts": file139,
  "console/app/screens/safety/audit_row.ts": file140,
  "console/app/screens/safety/backups.ts": file141,
  "console/app/screens/safety/diff.ts": file142,
  "console/app/screens/safety/explained.ts": file143,
  "console/app/screens/safety/guard.ts": file144,
  "console/app/screens/safety/guard_summary.ts": file145,
  "console/app/screens/safety/guards.ts": file146,
  "console/app/screens/safety/playground.ts": file147,
  "console/app/screens/safety/playground_address.ts": file148,
  "console/app/screens/safety/playground_choices.ts": file149,
  "console/app/screens/safety/policies.ts": file150,
  "console/app/screens/safety/policy.ts": file151,
  "console/app/screens/safety/policy_diff.ts": file152,
  "console/app/screens/safety/policy_tabs.ts": file153,
  "console/app/screens/safety/replay_view.ts": file154,
  "console/app/screens/safety/reports/compliance.ts": file155,
  "console/app/screens/safety/reports/periods.ts": file156,
  "console/app/screens/safety/reports/prose.ts": file157,
  "console/app/screens/safety/reports/records.ts": file158,
  "console/app/screens/safety/reports/report.ts": file159,
  "console/app/screens/safety/reports/report_controls.ts": file160,
  "console/app/screens/safety/reports/report_lists.ts": file161,
  "console/app/screens/safety/reports/report_types.ts": file162,
  "console/app/screens/safety/repositories.ts": file163,
  "console/app/screens/safety/repository_form.ts": file164,
  "console/app/screens/safety/rollback_plan.ts": file165,
  "console/app/screens/safety/shield/canary.ts": file166,
  "console/app/screens/safety/shield/patterns.ts": file167,
  "console/app/screens/safety/shield/self_approval.ts": file168,
  "console/app/screens/safety/shield/shield.ts": file169,
  "console/app/screens/safety/shield/shield_approvals.ts": file170,
  "console/app/screens/safety/shield/shield_modes.ts": file171,
  "console/app/screens/safety/shield/suggestions.ts": file172,
  "console/app/screens/work/agent.ts": file173,
  "console/app/screens/work/agent/commands.ts": file174,
  "console/app/screens/work/agent/drift.ts": file175,
  "console/app/screens/work/agent/guard.ts": file176,
  "console/app/screens/work/agent/labels.ts": file177,
  "console/app/screens/work/agent/labels_field.ts": file178,
  "console/app/screens/work/agent/manage.ts": file179,
  "console/app/screens/work/agent/pairing.ts": file180,
  "console/app/screens/work/agent/upgrade.ts": file181,
  "console/app/screens/work/agent_add.ts": file182,
  "console/app/screens/work/agents.ts": file183,
  "console/app/screens/work/approval.ts": file184,
  "console/app/screens/work/approval/about.ts": file185,
  "console/app/screens/work/approval/decide.ts": file186,
  "console/app/screens/work/approval/held_agents.ts": file187,
  "console/app/screens/work/approval/result.ts": file188,
  "console/app/screens/work/approval/votes.ts": file189,
  "console/app/screens/work/approvals.ts": file190,
  "console/app/screens/work/command.ts": file191,
  "console/app/screens/work/command/facts.ts": file192,
  "console/app/screens/work/command/filters.ts": file193,
  "console/app/screens/work/command/receipt.ts": file194,
  "console/app/screens/work/command/states.ts": file195,
  "console/app/screens/work/commands.ts": file196,
  "console/app/screens/work/fleet_command.ts": file197,
  "console/app/screens/work/overview.ts": file198,
  "console/app/screens/work/overview/agents_card.ts": file199,
  "console/app/screens/work/overview/audit_card.ts": file200,
  "console/app/screens/work/overview/card.ts": file201,
  "console/app/screens/work/overview/first_run.ts": file202,
  "console/app/screens/work/overview/list_cards.ts": file203,
  "console/app/screens/work/overview/waiting_card.ts": file204,
  "console/app/screens/work/overview/watching_note.ts": file205,
  "console/app/screens/work/overview/webhooks_card.ts": file206,
  "console/app/screens/work/run.ts": file207,
  "console/app/screens/work/run/agent_picker.ts": file208,
  "console/app/screens/work/run/choices.ts": file209,
  "console/app/screens/work/run/history.ts": file210,
  "console/app/screens/work/run/options.ts": file211,
  "console/app/screens/work/run/picked.ts": file212,
  "console/app/screens/work/run/shield_hint.ts": file213,
  "console/app/screens/work/run/started_card.ts": file214,
  "console/app/screens/work/run/state.ts": file215,
  "console/app/screens/work/run/target.ts": file216,
  "console/app/session.ts": file217,
  "console/app/space.ts": file218,
  "console/app/style.css": file219,
  "core/client/client.ts": file220,
  "core/client/error.ts": file221,
  "core/client/exchange.ts": file222,
  "core/client/operations.ts": file223,
  "core/client/platform.ts": file224,
  "core/client/retry.ts": file225,
  "core/client/sse.ts": file226,
  "core/client/stream.ts": file227,
  "core/client/types.ts": file228,
  "core/client/webhook.ts": file229,
};

/** The libraries that they import by name. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  "lib/preact.js": library0,
  "lib/preact/hooks.js": library1,
  "lib/htm.js": library2,
  "lib/htm/preact.js": library3,
  "lib/@preact/signals.js": library4,
  "lib/@preact/signals-core.js": library5,
  "lib/uqr.js": library6,
};
