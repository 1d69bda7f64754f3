import { createClient, RelayError } from "../../client/client.ts";
import { relayAddress } from "../address.ts";
import { UsageError } from "../arguments.ts";
import type { Host } from "./host.ts";
import { changeProfiles, type Profile, profilesPath, readProfiles } from "./profiles.ts";

/** A relay and a credential for it. */
export interface Target {
  readonly url: string;
  /** The profile that the credential comes from; null when it is RELAY_TOKEN. */
  readonly profile: string | null;
  /** The credential now; a session is refreshed before it expires. */
  readonly token: () => Promise<string>;
}

/** Raised when there is no credential, or it does not work any more. */
export class NotSignedInError extends Error {}

/** A relay on this machine. */
const LOCAL_URL = "http://127.0.0.1:9081";
/** A JWT that expires sooner is refreshed first. */
const EARLY_MS = 60_000;

/** The relay that a sign-in goes to. @throws {UsageError} */
export const loginUrl = (given: string | undefined, host: Pick<Host, "env">): string =>
  relayAddress(given ?? (host.env["RELAY_URL"] || LOCAL_URL));

/**
 * The relay and the credential of a command. A profile's credential is only ever sent to the profile's own relay.
 * @throws {NotSignedInError} @throws {UsageError}
 */
export function findTarget(
  given: { readonly url: string | undefined; readonly profile: string | undefined },
  host: Host,
): Target {
  const token = host.env["RELAY_TOKEN"]?.trim();
  if (given.profile === undefined && token) {
    const url = loginUrl(given.url, host);
    return { url, profile: null, token: () => Promise.resolve(token) };
  }
  const path = profilesPath(host.env);
  const { current, profiles } = readProfiles(path);
  const address = given.url ?? (given.profile === undefined ? host.env["RELAY_URL"] : undefined);
  const url = address ? relayAddress(address) : null;
  const fits = ([, profile]: readonly [string, Profile]) => url === null || profile.url === url;
  const named = given.profile ?? current;
  const own = Object.entries(profiles).find(([name]) => name === named);
  const found = own !== undefined && fits(own)
    ? own
    : given.profile === undefined && url !== null
    ? Object.entries(profiles).find(fits)
    : undefined;
  if (found !== undefined) {
    const [name, profile] = found;
    const { url } = profile;
    return { url, profile: name, token: () => freshToken({ path, name, url }, host) };
  }
  if (given.profile !== undefined && own !== undefined) {
    throw new UsageError(`The profile ${named} is for ${own[1].url}, not for ${url}.`);
  }
  const where = url === null ? "" : ` at ${url}`;
  const more = [url === null ? "" : ` --url ${url}`, given.profile ? ` --profile ${named}` : ""];
  throw new NotSignedInError(`You are not signed in${where}. Sign in: relay login${more.join("")}`);
}

/** Where a profile is kept, and the relay that it was for when the command began. */
interface Kept {
  readonly path: string;
  readonly name: string;
  readonly url: string;
}

/** A profile's credential, refreshed if it is about to expire. */
async function freshToken({ path, name, url }: Kept, host: Host): Promise<string> {
  const known = readProfiles(path).profiles[name];
  if (known?.url === url && isFresh(known, host.now())) return known.token;
  const again = `Sign in again: relay login --url ${url} --profile ${name}`;
  return await changeProfiles(path, async (all) => {
    const profile = all.profiles[name];
    if (profile === undefined) {
      throw new NotSignedInError(`There is no profile ${name} any more. ${again}`);
    }
    if (profile.url !== url) {
      throw new NotSignedInError(
        `The profile ${name} is for ${profile.url} now, not for ${url}. ${again}`,
      );
    }
    // Another process may have refreshed it meanwhile.
    if (isFresh(profile, host.now())) return [all, profile.token];
    const { refresh_token = "" } = profile;
    const relay = createClient({ url, fetch: host.fetch });
    const { token, expires_at, refresh_token: next } = await relay.call("account.refresh", {
      body: { refresh_token },
    }).catch((error) => {
      if (!(error instanceof RelayError) || error.status !== 401) throw error;
      throw new NotSignedInError(`The session has ended. ${again}`);
    });
    const refreshed = { ...profile, token, expires_at, refresh_token: next };
    return [{ ...all, profiles: { ...all.profiles, [name]: refreshed } }, token];
  });
}

const isFresh = ({ refresh_token, expires_at }: Profile, nowMs: number): boolean =>
  refresh_token === undefined || expires_at === undefined ||
  Date.parse(expires_at) - nowMs > EARLY_MS;
