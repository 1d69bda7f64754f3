import type { OpenApi } from "./_openapi_types.ts";
import type { Content } from "./_route.ts";

/** The reference page. */
export function docsPage(document: OpenApi): Content {
  return { type: "text/html; charset=utf-8", body: `<title>${document.info.title.length}</title>` };
}
