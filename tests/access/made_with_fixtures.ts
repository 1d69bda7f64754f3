import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import type { World } from "../support/world.ts";

/** The rights with which a key makes one of everything. */
export const MAKERS = SCOPE_LIST;

/** One of everything that outlives the request which makes it, as a list shows it, by its type. */
export async function makeEverything(world: World, as: string, name: string) {
  const post = async (path: string, body: unknown) => {
    const answer = await world.call("POST", path, { as, body });
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.text}`);
    return answer.body;
  };
  const url = `https://${name}.example.com/x`;
  const { pairing_code } = await post("/api/devices/pairing-codes", {});
  const { device_id, token } = await post("/api/devices/pair", { device_name: name, pairing_code });
  const { device } = await post("/api/devices/confirm", { device_id, token });
  return {
    api_key: await post("/api/v1/api-keys", { name, scopes: ["system:read", "system:write"] }),
    webhook: await post("/api/v1/webhooks", { name, url, events: ["agent_created"] }),
    ingest_token: await post("/api/v1/ingest-tokens", { name, purpose: "generic" }),
    integration: await post("/api/integrations", {
      type: "slack",
      name,
      config: { webhook_url: url },
    }),
    repository: await post("/api/v1/gitops/repos", {
      name,
      provider: "generic",
      url,
      branch: "main",
    }),
    device,
    invitation: await post("/api/v1/invitations", { roles: ["viewer"] }),
  };
}
