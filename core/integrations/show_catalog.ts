import { z } from "zod";
import type { Work } from "../work/work.ts";
import { pageOf, type Paging } from "../../kv/store/paging.ts";
import { CATALOG, INTEGRATION_TYPES, type IntegrationType } from "./catalog.ts";
import type { Service } from "./service.ts";

/** What can be installed, with the JSON Schema of its configuration. */
export function listCatalog(_work: Work, paging: Paging) {
  const { items, pagination } = pageOf(INTEGRATION_TYPES, paging);
  return { catalog: items.map(showService), pagination };
}

function showService(type: IntegrationType) {
  const { name, description, category, config, secrets, tell, repository, oauth }: Service =
    CATALOG[type];
  const capabilities = [
    ...(tell === undefined ? [] : ["notifications" as const]),
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
