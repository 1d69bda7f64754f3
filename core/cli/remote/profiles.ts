/** A sign-in of this user at one relay. */
export interface Profile {
  readonly url: string;
  /** A JWT or an API key. */
  readonly token: string;
  /** When the JWT expires, and what renews it. */
  readonly expires_at?: string;
  readonly refresh_token?: string;
  readonly email: string;
  readonly organization: string;
}

/** All sign-ins of this user. */
export interface Profiles {
  /** The one that commands use without --profile. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const NONE: Profiles = { current: "default", profiles: {} };
const OTHERS = 0o077;

/** The file of the profiles, in the folder that XDG names. @throws {Error} without a home directory */
export function profilesPath(env: Environment): string {
  const home = env["HOME"] || env["USERPROFILE"];
  const config = env["XDG_CONFIG_HOME"] || (home ? `${home}/.config` : null);
  if (config === null) throw new Error("there is no home directory: set HOME or XDG_CONFIG_HOME");
  return `${config}/relay/profiles.json`;
}

/** @throws {Error} when the file is damaged, or others may read it */
export function readProfiles(path: string): Profiles {
  let text: string;
  try {
    const { mode } = Deno.statSync(path);
    if (mode !== null && (mode & OTHERS) !== 0) {
      throw new Error(`other users can read your credentials: chmod 600 ${path}`);
    }
    text = Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NONE;
    throw error;
  }
  try {
    const { current, profiles } = JSON.parse(text) as Profiles;
    if (typeof current === "string" && typeof profiles === "object" && profiles !== null) {
      return { current, profiles };
    }
  } catch {
    // Reported below, with what to do about it.
  }
  throw new Error(`${path} holds no profiles: remove it and sign in again`);
}

/**
 * Changes the profiles while no other process does: two refreshes at once would lose a token. The file is replaced
 * whole, and only its owner may read it.
 */
export async function changeProfiles<R>(
  path: string,
  change: (profiles: Profiles) => Promise<readonly [Profiles, R]>,
): Promise<R> {
  Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
  using lock = Deno.openSync(`${path}.lock`, { create: true, write: true, mode: 0o600 });
  await lock.lock(true);
  const before = readProfiles(path);
  const [after, result] = await change(before);
  if (after !== before) {
    const text = `${JSON.stringify(after, null, 2)}\n`;
    Deno.writeTextFileSync(`${path}.new`, text, { mode: 0o600 });
    Deno.renameSync(`${path}.new`, path);
  }
  return result;
}
