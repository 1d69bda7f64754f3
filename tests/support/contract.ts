import { VERSION } from "../../core/protocol/protocol.ts";
import { openapi } from "../../routes/openapi/openapi.ts";
import { routes } from "../../routes/index.ts";

/** The text of `docs/openapi.json`: members in alphabetical order, so that moving code changes no line. */
export const contractText = (): string =>
  `${JSON.stringify(openapi(routes, VERSION), byName, 2)}\n`;

function byName(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}
