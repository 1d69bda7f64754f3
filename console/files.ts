// Written by `deno task docs` from the files of console/app and core/client.
import file0 from "./app/api.ts" with { type: "text" };
import file1 from "./app/app.ts" with { type: "text" };
import file2 from "./app/components/badge.ts" with { type: "text" };
import file3 from "./app/components/bytes.ts" with { type: "text" };
import file4 from "./app/components/chart.ts" with { type: "text" };
import file5 from "./app/components/choices.ts" with { type: "text" };
import file6 from "./app/components/copy.ts" with { type: "text" };
import file7 from "./app/components/dialog.ts" with { type: "text" };
import file8 from "./app/components/filters.ts" with { type: "text" };
import file9 from "./app/components/form.ts" with { type: "text" };
import file10 from "./app/components/help.ts" with { type: "text" };
import file11 from "./app/components/inputs.ts" with { type: "text" };
import file12 from "./app/components/palette.ts" with { type: "text" };
import file13 from "./app/components/qr_code.ts" with { type: "text" };
import file14 from "./app/components/scale.ts" with { type: "text" };
import file15 from "./app/components/scopes.ts" with { type: "text" };
import file16 from "./app/components/shown_once.ts" with { type: "text" };
import file17 from "./app/components/sign_in_again.ts" with { type: "text" };
import file18 from "./app/components/states.ts" with { type: "text" };
import file19 from "./app/components/table.ts" with { type: "text" };
import file20 from "./app/components/time.ts" with { type: "text" };
import file21 from "./app/components/visible_text.ts" with { type: "text" };
import file22 from "./app/data.ts" with { type: "text" };
import file23 from "./app/frame.ts" with { type: "text" };
import file24 from "./app/html.ts" with { type: "text" };
import file25 from "./app/icon.svg" with { type: "text" };
import file26 from "./app/keys.ts" with { type: "text" };
import file27 from "./app/live/channel.ts" with { type: "text" };
import file28 from "./app/live/follows.ts" with { type: "text" };
import file29 from "./app/live/host.ts" with { type: "text" };
import file30 from "./app/live/hub.ts" with { type: "text" };
import file31 from "./app/live/link.ts" with { type: "text" };
import file32 from "./app/live/live.ts" with { type: "text" };
import file33 from "./app/live/messages.ts" with { type: "text" };
import file34 from "./app/live/worker.ts" with { type: "text" };
import file35 from "./app/main.ts" with { type: "text" };
import file36 from "./app/pages.ts" with { type: "text" };
import file37 from "./app/repeat.ts" with { type: "text" };
import file38 from "./app/router.ts" with { type: "text" };
import file39 from "./app/screens.ts" with { type: "text" };
import file40 from "./app/screens/connections/config_fields.ts" with { type: "text" };
import file41 from "./app/screens/connections/delivery.ts" with { type: "text" };
import file42 from "./app/screens/connections/delivery_words.ts" with { type: "text" };
import file43 from "./app/screens/connections/devices.ts" with { type: "text" };
import file44 from "./app/screens/connections/event_choice.ts" with { type: "text" };
import file45 from "./app/screens/connections/header_lines.ts" with { type: "text" };
import file46 from "./app/screens/connections/headers_field.ts" with { type: "text" };
import file47 from "./app/screens/connections/integration.ts" with { type: "text" };
import file48 from "./app/screens/connections/integration_install.ts" with { type: "text" };
import file49 from "./app/screens/connections/integrations.ts" with { type: "text" };
import file50 from "./app/screens/connections/key.ts" with { type: "text" };
import file51 from "./app/screens/connections/key_change.ts" with { type: "text" };
import file52 from "./app/screens/connections/key_create.ts" with { type: "text" };
import file53 from "./app/screens/connections/key_explanation.ts" with { type: "text" };
import file54 from "./app/screens/connections/key_revoke.ts" with { type: "text" };
import file55 from "./app/screens/connections/key_rotate.ts" with { type: "text" };
import file56 from "./app/screens/connections/key_usage.ts" with { type: "text" };
import file57 from "./app/screens/connections/keys.ts" with { type: "text" };
import file58 from "./app/screens/connections/signature_help.ts" with { type: "text" };
import file59 from "./app/screens/connections/signature_snippets.ts" with { type: "text" };
import file60 from "./app/screens/connections/suspended.ts" with { type: "text" };
import file61 from "./app/screens/connections/webhook.ts" with { type: "text" };
import file62 from "./app/screens/connections/webhook_create.ts" with { type: "text" };
import file63 from "./app/screens/connections/webhook_deliveries.ts" with { type: "text" };
import file64 from "./app/screens/connections/webhook_recover.ts" with { type: "text" };
import file65 from "./app/screens/connections/webhook_settings.ts" with { type: "text" };
import file66 from "./app/screens/connections/webhook_test_send.ts" with { type: "text" };
import file67 from "./app/screens/connections/webhooks.ts" with { type: "text" };
import file68 from "./app/screens/entry/join.ts" with { type: "text" };
import file69 from "./app/screens/entry/reset.ts" with { type: "text" };
import file70 from "./app/screens/entry/sign_in.ts" with { type: "text" };
import file71 from "./app/screens/entry/sign_up.ts" with { type: "text" };
import file72 from "./app/screens/organization/host.ts" with { type: "text" };
import file73 from "./app/screens/organization/host/account.ts" with { type: "text" };
import file74 from "./app/screens/organization/host/accounts.ts" with { type: "text" };
import file75 from "./app/screens/organization/host/configuration.ts" with { type: "text" };
import file76 from "./app/screens/organization/host/figures.ts" with { type: "text" };
import file77 from "./app/screens/organization/host/health.ts" with { type: "text" };
import file78 from "./app/screens/organization/host/limit_words.ts" with { type: "text" };
import file79 from "./app/screens/organization/host/limits.ts" with { type: "text" };
import file80 from "./app/screens/organization/host/orders.ts" with { type: "text" };
import file81 from "./app/screens/organization/host/plans.ts" with { type: "text" };
import file82 from "./app/screens/organization/invitation_create.ts" with { type: "text" };
import file83 from "./app/screens/organization/invitations.ts" with { type: "text" };
import file84 from "./app/screens/organization/my_notifications.ts" with { type: "text" };
import file85 from "./app/screens/organization/my_sessions.ts" with { type: "text" };
import file86 from "./app/screens/organization/organization_settings.ts" with { type: "text" };
import file87 from "./app/screens/organization/password.ts" with { type: "text" };
import file88 from "./app/screens/organization/password_link.ts" with { type: "text" };
import file89 from "./app/screens/organization/people.ts" with { type: "text" };
import file90 from "./app/screens/organization/permissions.ts" with { type: "text" };
import file91 from "./app/screens/organization/person.ts" with { type: "text" };
import file92 from "./app/screens/organization/profile.ts" with { type: "text" };
import file93 from "./app/screens/organization/roles.ts" with { type: "text" };
import file94 from "./app/screens/organization/screen_of.ts" with { type: "text" };
import file95 from "./app/screens/organization/second_factor.ts" with { type: "text" };
import file96 from "./app/screens/organization/second_factor_enrol.ts" with { type: "text" };
import file97 from "./app/screens/organization/secrets.ts" with { type: "text" };
import file98 from "./app/screens/organization/settings.ts" with { type: "text" };
import file99 from "./app/screens/organization/telegram_links.ts" with { type: "text" };
import file100 from "./app/screens/safety/alerts.ts" with { type: "text" };
import file101 from "./app/screens/safety/audit.ts" with { type: "text" };
import file102 from "./app/screens/safety/compliance.ts" with { type: "text" };
import file103 from "./app/screens/safety/playground.ts" with { type: "text" };
import file104 from "./app/screens/safety/policies.ts" with { type: "text" };
import file105 from "./app/screens/safety/policy.ts" with { type: "text" };
import file106 from "./app/screens/safety/report.ts" with { type: "text" };
import file107 from "./app/screens/work/agent.ts" with { type: "text" };
import file108 from "./app/screens/work/agent_add.ts" with { type: "text" };
import file109 from "./app/screens/work/agents.ts" with { type: "text" };
import file110 from "./app/screens/work/approval.ts" with { type: "text" };
import file111 from "./app/screens/work/approvals.ts" with { type: "text" };
import file112 from "./app/screens/work/command.ts" with { type: "text" };
import file113 from "./app/screens/work/commands.ts" with { type: "text" };
import file114 from "./app/screens/work/fleet_command.ts" with { type: "text" };
import file115 from "./app/screens/work/overview.ts" with { type: "text" };
import file116 from "./app/screens/work/run.ts" with { type: "text" };
import file117 from "./app/session.ts" with { type: "text" };
import file118 from "./app/style.css" with { type: "text" };
import file119 from "../core/client/client.ts" with { type: "text" };
import file120 from "../core/client/error.ts" with { type: "text" };
import file121 from "../core/client/exchange.ts" with { type: "text" };
import file122 from "../core/client/operations.ts" with { type: "text" };
import file123 from "../core/client/platform.ts" with { type: "text" };
import file124 from "../core/client/retry.ts" with { type: "text" };
import file125 from "../core/client/sse.ts" with { type: "text" };
import file126 from "../core/client/stream.ts" with { type: "text" };
import file127 from "../core/client/types.ts" with { type: "text" };
import file128 from "../core/client/webhook.ts" with { type: "text" };
import library0 from "preact" with { type: "text" };
import library1 from "preact/hooks" with { type: "text" };
import library2 from "htm" with { type: "text" };
import library3 from "@preact/signals" with { type: "text" };
import library4 from "@preact/signals-core" with { type: "text" };
import library5 from "uqr" with { type: "text" };

/** The console's own files, by their path in the repository. */
export const FILES: Readonly<Record<string, string>> = {
  "console/app/api.ts": file0,
  "console/app/app.ts": file1,
  "console/app/components/badge.ts": file2,
  "console/app/components/bytes.ts": file3,
  "console/app/components/chart.ts": file4,
  "console/app/components/choices.ts": file5,
  "console/app/components/copy.ts": file6,
  "console/app/components/dialog.ts": file7,
  "console/app/components/filters.ts": file8,
  "console/app/components/form.ts": file9,
  "console/app/components/help.ts": file10,
  "console/app/components/inputs.ts": file11,
  "console/app/components/palette.ts": file12,
  "console/app/components/qr_code.ts": file13,
  "console/app/components/scale.ts": file14,
  "console/app/components/scopes.ts": file15,
  "console/app/components/shown_once.ts": file16,
  "console/app/components/sign_in_again.ts": file17,
  "console/app/components/states.ts": file18,
  "console/app/components/table.ts": file19,
  "console/app/components/time.ts": file20,
  "console/app/components/visible_text.ts": file21,
  "console/app/data.ts": file22,
  "console/app/frame.ts": file23,
  "console/app/html.ts": file24,
  "console/app/icon.svg": file25,
  "console/app/keys.ts": file26,
  "console/app/live/channel.ts": file27,
  "console/app/live/follows.ts": file28,
  "console/app/live/host.ts": file29,
  "console/app/live/hub.ts": file30,
  "console/app/live/link.ts": file31,
  "console/app/live/live.ts": file32,
  "console/app/live/messages.ts": file33,
  "console/app/live/worker.ts": file34,
  "console/app/main.ts": file35,
  "console/app/pages.ts": file36,
  "console/app/repeat.ts": file37,
  "console/app/router.ts": file38,
  "console/app/screens.ts": file39,
  "console/app/screens/connections/config_fields.ts": file40,
  "console/app/screens/connections/delivery.ts": file41,
  "console/app/screens/connections/delivery_words.ts": file42,
  "console/app/screens/connections/devices.ts": file43,
  "console/app/screens/connections/event_choice.ts": file44,
  "console/app/screens/connections/header_lines.ts": file45,
  "console/app/screens/connections/headers_field.ts": file46,
  "console/app/screens/connections/integration.ts": file47,
  "console/app/screens/connections/integration_install.ts": file48,
  "console/app/screens/connections/integrations.ts": file49,
  "console/app/screens/connections/key.ts": file50,
  "console/app/screens/connections/key_change.ts": file51,
  "console/app/screens/connections/key_create.ts": file52,
  "console/app/screens/connections/key_explanation.ts": file53,
  "console/app/screens/connections/key_revoke.ts": file54,
  "console/app/screens/connections/key_rotate.ts": file55,
  "console/app/screens/connections/key_usage.ts": file56,
  "console/app/screens/connections/keys.ts": file57,
  "console/app/screens/connections/signature_help.ts": file58,
  "console/app/screens/connections/signature_snippets.ts": file59,
  "console/app/screens/connections/suspended.ts": file60,
  "console/app/screens/connections/webhook.ts": file61,
  "console/app/screens/connections/webhook_create.ts": file62,
  "console/app/screens/connections/webhook_deliveries.ts": file63,
  "console/app/screens/connections/webhook_recover.ts": file64,
  "console/app/screens/connections/webhook_settings.ts": file65,
  "console/app/screens/connections/webhook_test_send.ts": file66,
  "console/app/screens/connections/webhooks.ts": file67,
  "console/app/screens/entry/join.ts": file68,
  "console/app/screens/entry/reset.ts": file69,
  "console/app/screens/entry/sign_in.ts": file70,
  "console/app/screens/entry/sign_up.ts": file71,
  "console/app/screens/organization/host.ts": file72,
  "console/app/screens/organization/host/account.ts": file73,
  "console/app/screens/organization/host/accounts.ts": file74,
  "console/app/screens/organization/host/configuration.ts": file75,
  "console/app/screens/organization/host/figures.ts": file76,
  "console/app/screens/organization/host/health.ts": file77,
  "console/app/screens/organization/host/limit_words.ts": file78,
  "console/app/screens/organization/host/limits.ts": file79,
  "console/app/screens/organization/host/orders.ts": file80,
  "console/app/screens/organization/host/plans.ts": file81,
  "console/app/screens/organization/invitation_create.ts": file82,
  "console/app/screens/organization/invitations.ts": file83,
  "console/app/screens/organization/my_notifications.ts": file84,
  "console/app/screens/organization/my_sessions.ts": file85,
  "console/app/screens/organization/organization_settings.ts": file86,
  "console/app/screens/organization/password.ts": file87,
  "console/app/screens/organization/password_link.ts": file88,
  "console/app/screens/organization/people.ts": file89,
  "console/app/screens/organization/permissions.ts": file90,
  "console/app/screens/organization/person.ts": file91,
  "console/app/screens/organization/profile.ts": file92,
  "console/app/screens/organization/roles.ts": file93,
  "console/app/screens/organization/screen_of.ts": file94,
  "console/app/screens/organization/second_factor.ts": file95,
  "console/app/screens/organization/second_factor_enrol.ts": file96,
  "console/app/screens/organization/secrets.ts": file97,
  "console/app/screens/organization/settings.ts": file98,
  "console/app/screens/organization/telegram_links.ts": file99,
  "console/app/screens/safety/alerts.ts": file100,
  "console/app/screens/safety/audit.ts": file101,
  "console/app/screens/safety/compliance.ts": file102,
  "console/app/screens/safety/playground.ts": file103,
  "console/app/screens/safety/policies.ts": file104,
  "console/app/screens/safety/policy.ts": file105,
  "console/app/screens/safety/report.ts": file106,
  "console/app/screens/work/agent.ts": file107,
  "console/app/screens/work/agent_add.ts": file108,
  "console/app/screens/work/agents.ts": file109,
  "console/app/screens/work/approval.ts": file110,
  "console/app/screens/work/approvals.ts": file111,
  "console/app/screens/work/command.ts": file112,
  "console/app/screens/work/commands.ts": file113,
  "console/app/screens/work/fleet_command.ts": file114,
  "console/app/screens/work/overview.ts": file115,
  "console/app/screens/work/run.ts": file116,
  "console/app/session.ts": file117,
  "console/app/style.css": file118,
  "core/client/client.ts": file119,
  "core/client/error.ts": file120,
  "core/client/exchange.ts": file121,
  "core/client/operations.ts": file122,
  "core/client/platform.ts": file123,
  "core/client/retry.ts": file124,
  "core/client/sse.ts": file125,
  "core/client/stream.ts": file126,
  "core/client/types.ts": file127,
  "core/client/webhook.ts": file128,
};

/** The libraries that they import by name. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  "lib/preact.js": library0,
  "lib/preact/hooks.js": library1,
  "lib/htm.js": library2,
  "lib/@preact/signals.js": library3,
  "lib/@preact/signals-core.js": library4,
  "lib/uqr.js": library5,
};
