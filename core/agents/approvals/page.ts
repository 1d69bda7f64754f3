import type { Tenant } from "../../../kv/store/collection.ts";

/** The console's page about a request for approval, as a path of the relay. All links to one lead here. */
export const approvalPage = ({ space }: Pick<Tenant, "space">, pid: string): string =>
  `/console/approvals/${pid}${space === "test" ? "?space=test" : ""}`;
