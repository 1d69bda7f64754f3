import { type Client, RelayError } from "../../client/client.ts";
import type { Run } from "./command.ts";
import { changeProfiles, profilesPath } from "./profiles.ts";
import { NotSignedInError } from "./target.ts";

/** `relay whoami` */
export const whoami: Run = async ({ relay, target, host, out }) => {
  const { url, profile } = target();
  const info = await relay().call("account.info");
  const path = profilesPath(host.env);
  await out.item({ ...info, relay: url, profile, path }, info.user.email, [
    ["user", `${info.user.email} (${info.user.id})`],
    ["organization", `${info.organization.name} (${info.organization.id})`],
    ["roles", info.user.roles.join(", ")],
    ["rights", info.scopes.join(", ")],
    ["credential", `${info.credential.type} ${info.credential.id}`],
    ["space", info.space],
    ["relay", url],
    ["profile", profile === null ? "none: RELAY_TOKEN is set" : `${profile} in ${path}`],
  ]);
};

/** `relay logout` */
export const logout: Run = async ({ relay, target, has, host, out }) => {
  const { profile, url } = target();
  if (profile === null) {
    await out.note("RELAY_TOKEN is set, so there is no profile to remove. Unset it.");
    return 1;
  }
  const ended = has("forget") ? false : await endSession(relay());
  await changeProfiles(profilesPath(host.env), ({ current, profiles }) => {
    const { [profile]: _, ...others } = profiles;
    const next = current === profile ? Object.keys(others)[0] ?? "default" : current;
    return Promise.resolve([{ current: next, profiles: others }, undefined] as const);
  });
  await out.item({ profile, url, session_ended: ended }, profile, [
    ["signed out of", url],
    ["session", ended ? "ended" : has("forget") ? "not asked to end" : "had ended"],
  ]);
};

/** Ends the session of the credential; false when it had ended, or when it is an API key. */
async function endSession(client: Client): Promise<boolean> {
  try {
    const { credential } = await client.call("account.info");
    if (credential.type === "api_key") return false;
    const { sessions } = await client.call("account.sessions");
    const own = sessions.find(({ current }) => current);
    if (own === undefined) return false;
    await client.call("account.end_session", { params: { id: own.id } });
    return true;
  } catch (error) {
    if (error instanceof NotSignedInError) return false;
    if (error instanceof RelayError && error.status === 401) return false;
    throw error;
  }
}

/** `relay status` */
export const status: Run = async ({ relay, target, out }) => {
  const client = relay();
  const [health, { user, organization }] = await Promise.all([
    client.call("health.detail"),
    client.call("account.info"),
  ]);
  const [agents, online, outdated, approvals] = await Promise.all([
    total(client.call("agents.list", { query: { limit: 1 } })),
    total(client.call("agents.list", { query: { limit: 1, status: "online" } })),
    total(client.call("agents.list", { query: { limit: 1, outdated: "true" } })),
    total(client.call("approvals.list", { query: { limit: 1, status: "pending" } })),
  ]);
  const down = Object.entries(health.components).filter(([, state]) => state !== "ok");
  const answer = {
    relay: target().url,
    status: health.status,
    components: health.components,
    version: health.version ?? null,
    agents,
    agents_online: online,
    agents_outdated: outdated,
    approvals_pending: approvals,
  };
  await out.item(answer, health.status, [
    ["relay", `${target().url}: ${health.status}`],
    ["down", down.length === 0 ? undefined : down.map(([name]) => name).join(", ")],
    ["version", health.version],
    ["signed in as", `${user.email} of ${organization.name}`],
    ["agents", agents === null ? undefined : agentsLine({ agents, online, outdated })],
    ["approvals", approvals === null ? undefined : `${approvals} waiting`],
  ]);
  return health.status === "ok" ? 0 : 1;
};

const agentsLine = (
  { agents, online, outdated }: Readonly<Record<"agents" | "online" | "outdated", number | null>>,
): string =>
  `${online} of ${agents} online` +
  (outdated ? `, ${outdated} outdated: relay agents ls --outdated` : "");

/** The total of a list; null when the caller may not see it. */
async function total(
  list: Promise<{ readonly pagination: { readonly total: number } }>,
): Promise<number | null> {
  try {
    return (await list).pagination.total;
  } catch (error) {
    if (error instanceof RelayError && error.code === "INSUFFICIENT_SCOPES") return null;
    throw error;
  }
}
