// Written by `deno task docs` from the files of console/app and core/client.
import file0 from "./app/api.ts" with { type: "text" };
import file1 from "./app/app.ts" with { type: "text" };
import file2 from "./app/components/badge.ts" with { type: "text" };
import file3 from "./app/components/copy.ts" with { type: "text" };
import file4 from "./app/components/dialog.ts" with { type: "text" };
import file5 from "./app/components/filters.ts" with { type: "text" };
import file6 from "./app/components/form.ts" with { type: "text" };
import file7 from "./app/components/help.ts" with { type: "text" };
import file8 from "./app/components/names.ts" with { type: "text" };
import file9 from "./app/components/palette.ts" with { type: "text" };
import file10 from "./app/components/sign_in_again.ts" with { type: "text" };
import file11 from "./app/components/states.ts" with { type: "text" };
import file12 from "./app/components/table.ts" with { type: "text" };
import file13 from "./app/components/time.ts" with { type: "text" };
import file14 from "./app/components/visible_text.ts" with { type: "text" };
import file15 from "./app/data.ts" with { type: "text" };
import file16 from "./app/frame.ts" with { type: "text" };
import file17 from "./app/html.ts" with { type: "text" };
import file18 from "./app/icon.svg" with { type: "text" };
import file19 from "./app/keys.ts" with { type: "text" };
import file20 from "./app/labels.ts" with { type: "text" };
import file21 from "./app/live/channel.ts" with { type: "text" };
import file22 from "./app/live/follows.ts" with { type: "text" };
import file23 from "./app/live/host.ts" with { type: "text" };
import file24 from "./app/live/hub.ts" with { type: "text" };
import file25 from "./app/live/link.ts" with { type: "text" };
import file26 from "./app/live/live.ts" with { type: "text" };
import file27 from "./app/live/messages.ts" with { type: "text" };
import file28 from "./app/live/worker.ts" with { type: "text" };
import file29 from "./app/main.ts" with { type: "text" };
import file30 from "./app/pages.ts" with { type: "text" };
import file31 from "./app/pairing.ts" with { type: "text" };
import file32 from "./app/router.ts" with { type: "text" };
import file33 from "./app/screens.ts" with { type: "text" };
import file34 from "./app/screens/connections/delivery.ts" with { type: "text" };
import file35 from "./app/screens/connections/device_dialog.ts" with { type: "text" };
import file36 from "./app/screens/connections/devices.ts" with { type: "text" };
import file37 from "./app/screens/connections/integrations.ts" with { type: "text" };
import file38 from "./app/screens/connections/key.ts" with { type: "text" };
import file39 from "./app/screens/connections/keys.ts" with { type: "text" };
import file40 from "./app/screens/connections/pairing_codes.ts" with { type: "text" };
import file41 from "./app/screens/connections/webhook.ts" with { type: "text" };
import file42 from "./app/screens/connections/webhooks.ts" with { type: "text" };
import file43 from "./app/screens/entry/join.ts" with { type: "text" };
import file44 from "./app/screens/entry/parts.ts" with { type: "text" };
import file45 from "./app/screens/entry/reset.ts" with { type: "text" };
import file46 from "./app/screens/entry/sign_in.ts" with { type: "text" };
import file47 from "./app/screens/entry/sign_up.ts" with { type: "text" };
import file48 from "./app/screens/organization/host.ts" with { type: "text" };
import file49 from "./app/screens/organization/people.ts" with { type: "text" };
import file50 from "./app/screens/organization/settings.ts" with { type: "text" };
import file51 from "./app/screens/safety/alerts.ts" with { type: "text" };
import file52 from "./app/screens/safety/audit.ts" with { type: "text" };
import file53 from "./app/screens/safety/compliance.ts" with { type: "text" };
import file54 from "./app/screens/safety/playground.ts" with { type: "text" };
import file55 from "./app/screens/safety/policies.ts" with { type: "text" };
import file56 from "./app/screens/safety/policy.ts" with { type: "text" };
import file57 from "./app/screens/safety/report.ts" with { type: "text" };
import file58 from "./app/screens/work/agent.ts" with { type: "text" };
import file59 from "./app/screens/work/agent/commands.ts" with { type: "text" };
import file60 from "./app/screens/work/agent/drift.ts" with { type: "text" };
import file61 from "./app/screens/work/agent/guard.ts" with { type: "text" };
import file62 from "./app/screens/work/agent/labels.ts" with { type: "text" };
import file63 from "./app/screens/work/agent/labels_field.ts" with { type: "text" };
import file64 from "./app/screens/work/agent/manage.ts" with { type: "text" };
import file65 from "./app/screens/work/agent/pairing.ts" with { type: "text" };
import file66 from "./app/screens/work/agent/upgrade.ts" with { type: "text" };
import file67 from "./app/screens/work/agent_add.ts" with { type: "text" };
import file68 from "./app/screens/work/agents.ts" with { type: "text" };
import file69 from "./app/screens/work/approval.ts" with { type: "text" };
import file70 from "./app/screens/work/approvals.ts" with { type: "text" };
import file71 from "./app/screens/work/command.ts" with { type: "text" };
import file72 from "./app/screens/work/commands.ts" with { type: "text" };
import file73 from "./app/screens/work/fleet_command.ts" with { type: "text" };
import file74 from "./app/screens/work/overview.ts" with { type: "text" };
import file75 from "./app/screens/work/overview/agents_card.ts" with { type: "text" };
import file76 from "./app/screens/work/overview/audit_card.ts" with { type: "text" };
import file77 from "./app/screens/work/overview/card.ts" with { type: "text" };
import file78 from "./app/screens/work/overview/first_run.ts" with { type: "text" };
import file79 from "./app/screens/work/overview/list_cards.ts" with { type: "text" };
import file80 from "./app/screens/work/overview/waiting_card.ts" with { type: "text" };
import file81 from "./app/screens/work/overview/webhooks_card.ts" with { type: "text" };
import file82 from "./app/screens/work/run.ts" with { type: "text" };
import file83 from "./app/session.ts" with { type: "text" };
import file84 from "./app/style.css" with { type: "text" };
import file85 from "../core/client/client.ts" with { type: "text" };
import file86 from "../core/client/error.ts" with { type: "text" };
import file87 from "../core/client/exchange.ts" with { type: "text" };
import file88 from "../core/client/operations.ts" with { type: "text" };
import file89 from "../core/client/platform.ts" with { type: "text" };
import file90 from "../core/client/retry.ts" with { type: "text" };
import file91 from "../core/client/sse.ts" with { type: "text" };
import file92 from "../core/client/stream.ts" with { type: "text" };
import file93 from "../core/client/types.ts" with { type: "text" };
import file94 from "../core/client/webhook.ts" with { type: "text" };
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
  "console/app/components/copy.ts": file3,
  "console/app/components/dialog.ts": file4,
  "console/app/components/filters.ts": file5,
  "console/app/components/form.ts": file6,
  "console/app/components/help.ts": file7,
  "console/app/components/names.ts": file8,
  "console/app/components/palette.ts": file9,
  "console/app/components/sign_in_again.ts": file10,
  "console/app/components/states.ts": file11,
  "console/app/components/table.ts": file12,
  "console/app/components/time.ts": file13,
  "console/app/components/visible_text.ts": file14,
  "console/app/data.ts": file15,
  "console/app/frame.ts": file16,
  "console/app/html.ts": file17,
  "console/app/icon.svg": file18,
  "console/app/keys.ts": file19,
  "console/app/labels.ts": file20,
  "console/app/live/channel.ts": file21,
  "console/app/live/follows.ts": file22,
  "console/app/live/host.ts": file23,
  "console/app/live/hub.ts": file24,
  "console/app/live/link.ts": file25,
  "console/app/live/live.ts": file26,
  "console/app/live/messages.ts": file27,
  "console/app/live/worker.ts": file28,
  "console/app/main.ts": file29,
  "console/app/pages.ts": file30,
  "console/app/pairing.ts": file31,
  "console/app/router.ts": file32,
  "console/app/screens.ts": file33,
  "console/app/screens/connections/delivery.ts": file34,
  "console/app/screens/connections/device_dialog.ts": file35,
  "console/app/screens/connections/devices.ts": file36,
  "console/app/screens/connections/integrations.ts": file37,
  "console/app/screens/connections/key.ts": file38,
  "console/app/screens/connections/keys.ts": file39,
  "console/app/screens/connections/pairing_codes.ts": file40,
  "console/app/screens/connections/webhook.ts": file41,
  "console/app/screens/connections/webhooks.ts": file42,
  "console/app/screens/entry/join.ts": file43,
  "console/app/screens/entry/parts.ts": file44,
  "console/app/screens/entry/reset.ts": file45,
  "console/app/screens/entry/sign_in.ts": file46,
  "console/app/screens/entry/sign_up.ts": file47,
  "console/app/screens/organization/host.ts": file48,
  "console/app/screens/organization/people.ts": file49,
  "console/app/screens/organization/settings.ts": file50,
  "console/app/screens/safety/alerts.ts": file51,
  "console/app/screens/safety/audit.ts": file52,
  "console/app/screens/safety/compliance.ts": file53,
  "console/app/screens/safety/playground.ts": file54,
  "console/app/screens/safety/policies.ts": file55,
  "console/app/screens/safety/policy.ts": file56,
  "console/app/screens/safety/report.ts": file57,
  "console/app/screens/work/agent.ts": file58,
  "console/app/screens/work/agent/commands.ts": file59,
  "console/app/screens/work/agent/drift.ts": file60,
  "console/app/screens/work/agent/guard.ts": file61,
  "console/app/screens/work/agent/labels.ts": file62,
  "console/app/screens/work/agent/labels_field.ts": file63,
  "console/app/screens/work/agent/manage.ts": file64,
  "console/app/screens/work/agent/pairing.ts": file65,
  "console/app/screens/work/agent/upgrade.ts": file66,
  "console/app/screens/work/agent_add.ts": file67,
  "console/app/screens/work/agents.ts": file68,
  "console/app/screens/work/approval.ts": file69,
  "console/app/screens/work/approvals.ts": file70,
  "console/app/screens/work/command.ts": file71,
  "console/app/screens/work/commands.ts": file72,
  "console/app/screens/work/fleet_command.ts": file73,
  "console/app/screens/work/overview.ts": file74,
  "console/app/screens/work/overview/agents_card.ts": file75,
  "console/app/screens/work/overview/audit_card.ts": file76,
  "console/app/screens/work/overview/card.ts": file77,
  "console/app/screens/work/overview/first_run.ts": file78,
  "console/app/screens/work/overview/list_cards.ts": file79,
  "console/app/screens/work/overview/waiting_card.ts": file80,
  "console/app/screens/work/overview/webhooks_card.ts": file81,
  "console/app/screens/work/run.ts": file82,
  "console/app/session.ts": file83,
  "console/app/style.css": file84,
  "core/client/client.ts": file85,
  "core/client/error.ts": file86,
  "core/client/exchange.ts": file87,
  "core/client/operations.ts": file88,
  "core/client/platform.ts": file89,
  "core/client/retry.ts": file90,
  "core/client/sse.ts": file91,
  "core/client/stream.ts": file92,
  "core/client/types.ts": file93,
  "core/client/webhook.ts": file94,
};

/** The libraries that they import by name. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  "lib/preact.js": library0,
  "lib/preact/hooks.js": library1,
  "lib/htm.js": library2,
  "lib/@preact/signals.js": library3,
  "lib/@preact/signals-core.js": library4,
};
