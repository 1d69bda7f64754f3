import { z } from "zod";
import type { Work } from "../app.ts";
import type { Paging } from "../lists.ts";
import { CATALOG, INTEGRATION_TYPES } from "./catalog.ts";
import type { Service } from "./service.ts";

/** What can be installed, with the JSON Schema of its configuration. */
export function listCatalog(_work: Work, { limit, offset }: Paging) {
  const catalog = INTEGRATION_TYPES.slice(offset, offset + limit).map((type) => {
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
  });
  const total = INTEGRATION_TYPES.length;
  return { catalog, pagination: { total, limit, offset, has_more: offset + limit < total } };
}
