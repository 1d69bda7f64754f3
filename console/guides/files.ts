// Written by `deno task docs` from docs/README.md and docs/pictures.
import list from "../../docs/README.md" with { type: "text" };
import icon from "../app/icon.svg" with { type: "text" };
import consoleStyle from "../app/style.css" with { type: "text" };
import guidesStyle from "./guides.css" with { type: "text" };
import page0 from "../../docs/getting-started.md" with { type: "text" };
import page1 from "../../docs/tour.md" with { type: "text" };
import page2 from "../../docs/deploy.md" with { type: "text" };
import page3 from "../../docs/configuration.md" with { type: "text" };
import page4 from "../../docs/admin.md" with { type: "text" };
import page5 from "../../docs/backup.md" with { type: "text" };
import page6 from "../../docs/telemetry.md" with { type: "text" };
import page7 from "../../docs/metrics.md" with { type: "text" };
import page8 from "../../docs/growth.md" with { type: "text" };
import page9 from "../../docs/speed.md" with { type: "text" };
import page10 from "../../docs/secrets.md" with { type: "text" };
import page11 from "../../docs/security.md" with { type: "text" };
import page12 from "../../docs/console.md" with { type: "text" };
import page13 from "../../docs/cli.md" with { type: "text" };
import page14 from "../../docs/accounts.md" with { type: "text" };
import page15 from "../../docs/tokens.md" with { type: "text" };
import page16 from "../../docs/keys.md" with { type: "text" };
import page17 from "../../docs/limits.md" with { type: "text" };
import page18 from "../../docs/devices.md" with { type: "text" };
import page19 from "../../docs/upgrades.md" with { type: "text" };
import page20 from "../../docs/agent-protocol.md" with { type: "text" };
import page21 from "../../docs/command-lists.md" with { type: "text" };
import page22 from "../../docs/fleet-commands.md" with { type: "text" };
import page23 from "../../docs/shield.md" with { type: "text" };
import page24 from "../../docs/shield-accuracy.md" with { type: "text" };
import page25 from "../../docs/approvals.md" with { type: "text" };
import page26 from "../../docs/policy.md" with { type: "text" };
import page27 from "../../docs/gitops.md" with { type: "text" };
import page28 from "../../docs/alerts.md" with { type: "text" };
import page29 from "../../docs/audit.md" with { type: "text" };
import page30 from "../../docs/audit-events.md" with { type: "text" };
import page31 from "../../docs/compliance.md" with { type: "text" };
import page32 from "../../docs/streams.md" with { type: "text" };
import page33 from "../../docs/webhooks.md" with { type: "text" };
import page34 from "../../docs/integrations.md" with { type: "text" };
import page35 from "../../docs/typescript.md" with { type: "text" };
import page36 from "../../docs/clients.md" with { type: "text" };
import page37 from "../../docs/mcp.md" with { type: "text" };
import picture0 from "../../docs/pictures/approval-dark.png" with { type: "bytes" };
import picture1 from "../../docs/pictures/approval-light.png" with { type: "bytes" };
import picture2 from "../../docs/pictures/audit-dark.png" with { type: "bytes" };
import picture3 from "../../docs/pictures/audit-light.png" with { type: "bytes" };
import picture4 from "../../docs/pictures/command-dark.png" with { type: "bytes" };
import picture5 from "../../docs/pictures/command-light.png" with { type: "bytes" };
import picture6 from "../../docs/pictures/overview-dark.png" with { type: "bytes" };
import picture7 from "../../docs/pictures/overview-light.png" with { type: "bytes" };
import picture8 from "../../docs/pictures/run-dark.png" with { type: "bytes" };
import picture9 from "../../docs/pictures/run-light.png" with { type: "bytes" };

/** The page that lists the guides by chapters. */
export const CHAPTERS: string = list;

/** The guides, by their name in addresses. */
export const PAGES: Readonly<Record<string, string>> = {
  "getting-started": page0,
  "tour": page1,
  "deploy": page2,
  "configuration": page3,
  "admin": page4,
  "backup": page5,
  "telemetry": page6,
  "metrics": page7,
  "growth": page8,
  "speed": page9,
  "secrets": page10,
  "security": page11,
  "console": page12,
  "cli": page13,
  "accounts": page14,
  "tokens": page15,
  "keys": page16,
  "limits": page17,
  "devices": page18,
  "upgrades": page19,
  "agent-protocol": page20,
  "command-lists": page21,
  "fleet-commands": page22,
  "shield": page23,
  "shield-accuracy": page24,
  "approvals": page25,
  "policy": page26,
  "gitops": page27,
  "alerts": page28,
  "audit": page29,
  "audit-events": page30,
  "compliance": page31,
  "streams": page32,
  "webhooks": page33,
  "integrations": page34,
  "typescript": page35,
  "clients": page36,
  "mcp": page37,
};

/** The pictures, by the name of their file. */
export const PICTURES: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = {
  "approval-dark.png": picture0,
  "approval-light.png": picture1,
  "audit-dark.png": picture2,
  "audit-light.png": picture3,
  "command-dark.png": picture4,
  "command-light.png": picture5,
  "overview-dark.png": picture6,
  "overview-light.png": picture7,
  "run-dark.png": picture8,
  "run-light.png": picture9,
};

export const ICON: string = icon;
export const STYLES: readonly string[] = [consoleStyle, guidesStyle];
