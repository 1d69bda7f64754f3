import { type Client, expectStatus } from "../clients/status_client.ts";
import type { HookKind } from "./hook_receivers.ts";

const QUICK = { initial_delay_seconds: 1, backoff_multiplier: 1, timeout_seconds: 1 };
const POLICIES: Readonly<Record<HookKind, object>> = {
  // Nothing but a crash may cut its attempts off, and no slow machine may have it given up.
  good: { ...QUICK, timeout_seconds: 10, max_retries: 12, auto_disable: false },
  flaky: { ...QUICK, max_retries: 12, auto_disable: false },
  hang: { ...QUICK, max_retries: 2, auto_disable: false },
  drip: { ...QUICK, max_retries: 12, auto_disable: false },
  reset: { ...QUICK, max_retries: 2, auto_disable: false },
  // Its first failure disables it, so that what follows is held until it is enabled.
  gone: { ...QUICK, max_retries: 1 },
};

/** Makes a webhook for denied commands to a receiver of this kind. Returns its id. */
export async function makeHook(owner: Client, kind: HookKind, url: string): Promise<string> {
  const answer = await owner<{ id: string }>("POST", "/api/v1/webhooks", {
    name: kind,
    url,
    secret: "sixteen characters",
    events: ["command_denied"],
    retry_policy: POLICIES[kind],
  });
  return expectStatus(answer, 201, "making a webhook").id;
}
