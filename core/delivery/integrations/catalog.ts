import { z } from "zod";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import type { Work } from "../../work/work.ts";
import type { Service } from "./service.ts";
import { gitea, github, gitlab } from "./services/git.ts";
import { jira } from "./services/jira.ts";
import { oauth2 } from "./services/oauth2.ts";
import { pagerduty } from "./services/pagerduty.ts";
import { slack } from "./services/slack.ts";
import { telegram } from "./services/telegram.ts";
import { webhook } from "./services/webhook.ts";

/** Every service that can be installed, by type. */
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

/** The service of a stored record. */
export const serviceOf = ({ type }: { readonly type: string }): Service =>
  CATALOG[type as IntegrationType];

/** The installable services, each with the JSON Schema of its configuration. */
export function listCatalog(_work: Work, paging: Paging) {
  const { items, pagination } = pageOf(INTEGRATION_TYPES, paging);
  return { catalog: items.map(showService), pagination };
}

function showService(type: IntegrationType) {
  const { name, description, category, config, secrets, notify, repository, oauth }: Service =
    CATALOG[type];
  const capabilities = [
    ...(notify === undefined ? [] : ["notifications" as const]),
    ...(repository === undefined ? [] : ["repositories" as const]),
    ...(oauth === undefined ? [] : ["oauth" as const]),
  ];
  return {
    type,
    name,
    description,
    category,
    capabilities,
    secrets: [...secrets],
    config_schema: z.toJSONSchema(config, { io: "input" }) as Record<string, unknown>,
  };
}
