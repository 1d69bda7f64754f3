import { deepStrictEqual as deq } from "node:assert/strict";
import { z } from "zod";
import type { Route } from "../../routes/call/route.ts";
import { routes } from "../../routes/index.ts";

/** Everything else asks for a right. */
const WITHOUT_A_RIGHT = {
  public: {
    account: "jwks login refresh reset_password signup",
    agents: "heartbeat",
    console_session: "begin oidc_callback oidc_start options sign_up",
    device_logins: "page poll start",
    devices: "confirm pair",
    docs: "home openapi page policy_schema",
    health: "detail live",
    invitations: "read",
    receivers: "alertmanager generic git telegram",
  },
  signedIn: {
    account:
      "change_password end_session info notifications read_notification sessions settings update_settings",
    api_keys: "delete explain get list revoke usage",
    console_session: "end",
    device_logins: "decide read",
    integrations: "oauth_callback",
    mcp_clients: "decide end list read_request",
    scopes: "list",
    second_factor: "confirm disable enrol read recovery_codes",
    telegram_links: "delete list",
  },
};

/** Of the organization as a whole, of the installation, and of services outside. */
const LIVE_FOLDERS =
  /^\/(metrics|api\/(admin|integrations(?!\/catalog)|v1\/(invitations|roles|secrets|users)))(\/|$)/;
/** What a person has once, whichever space they work in: it is read in both and changed in one. */
const OWN_FOLDERS = /^\/api\/(account(?!\/notifications)|shield\/telegram-links)\//;

/** Fields of an answer that let whoever reads it in. */
const SECRETS =
  /^(code|token|secret|credential|old_key|new_key|invite_code|pairing_code|device_code|refresh_token|recovery_codes|authorize_url)$/;

const changes = ({ effect }: Route): boolean => effect !== "read";
const idsOf = (some: readonly Route[]): string[] => some.map(({ id }) => id).sort();

Deno.test("declarations: routes without a scope are public or concern the caller only", () => {
  for (const [access, areas] of Object.entries(WITHOUT_A_RIGHT)) {
    const ids = Object.entries(areas).flatMap(([area, names]) =>
      names.split(" ").map((name) => `${area}.${name}`)
    );
    deq(idsOf(routes.filter((route) => access in route.access)), ids.sort(), access);
  }
});

Deno.test("declarations: changes need a write scope and reads a read scope", () => {
  const wrong = routes.filter((route) => {
    const right = changes(route) ? /:(write|admin)$/ : /:read$/;
    return "scope" in route.access && ![route.access.scope].flat().every((one) => right.test(one));
  });
  deq(idsOf(wrong), []);
});

Deno.test("declarations: only the host changes the installation", () => {
  const ofHost = routes.filter(({ access }) => "scope" in access && access.host);
  const admin = routes.filter((route) => route.path.startsWith("/api/admin/") && changes(route));
  deq(idsOf(ofHost), [...idsOf(admin), "health.metrics"].sort());
});

Deno.test("declarations: routes for people, the installation and outside services are closed to the test space", () => {
  const live = routes.filter((route) =>
    LIVE_FOLDERS.test(route.path) ||
    (changes(route) && OWN_FOLDERS.test(`${route.path}/`))
  );
  deq(idsOf(routes.filter(({ liveOnly }) => liveOnly)), idsOf(live));
});

Deno.test("declarations: responses with a secret forbid caching", () => {
  const secret = routes.filter(({ id, success }) => {
    const shape = "body" in success && success.body instanceof z.ZodObject
      ? success.body.shape
      : {};
    const named = Object.keys(shape).some((name) =>
      SECRETS.test(name) && !(shape[name] instanceof z.ZodObject)
    );
    return named || id === "api_keys.create";
  });
  deq(secret.length, 19);
  deq(idsOf(secret.filter(({ noStore }) => !noStore)), []);
});

Deno.test("declarations: every path with an agent declares it, so that it takes a name and is counted", () => {
  const wrong = routes.filter(({ path, agent }) => {
    const [, ofAgents, elsewhere] = /\/agents\/\{(\w+)\}|\{(agent_id)\}/.exec(path) ?? [];
    return (ofAgents ?? elsewhere ?? agent) !== agent;
  });
  deq(idsOf(wrong), []);
});

Deno.test("declarations: no public endpoint takes an agent's name", () => {
  deq(idsOf(routes.filter(({ access, agent }) => "public" in access && agent !== undefined)), []);
});
