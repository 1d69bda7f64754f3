import type { Service } from "./service.ts";
import { gitea, github, gitlab } from "./services/git.ts";
import { jira } from "./services/jira.ts";
import { oauth2 } from "./services/oauth2.ts";
import { pagerduty } from "./services/pagerduty.ts";
import { slack } from "./services/slack.ts";
import { telegram } from "./services/telegram.ts";
import { webhook } from "./services/webhook.ts";

/** Everything that can be installed, by its type. */
export const CATALOG = {
  slack,
  telegram,
  pagerduty,
  webhook,
  github,
  gitlab,
  gitea,
  jira,
  oauth2,
} as const satisfies Record<string, Service>;

export type IntegrationType = keyof typeof CATALOG;

/** Every type, in the order of the table. */
export const INTEGRATION_TYPES = Object.keys(CATALOG) as [IntegrationType, ...IntegrationType[]];

/** The row of a stored record. */
export const serviceOf = ({ type }: { readonly type: string }): Service =>
  CATALOG[type as IntegrationType];
