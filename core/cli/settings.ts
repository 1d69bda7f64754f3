import { isRemote } from "../../kv/maintenance/location.ts";
import {
  type ConfigSource,
  NO_SOURCE,
  parseConfig,
  type Settings,
  type StoreSettings,
} from "../context/context.ts";
import { type Environment, isServicePort, showVariables } from "./environment.ts";

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Reads the settings; `readText` reads the file that RELAY_CONFIG may name.
 * @throws {Error} with the name of the variable and what it may be
 */
export function readSettings(
  variables: Environment,
  readText: (path: string) => string,
  hosted: boolean,
): Settings {
  const env = setVariables(variables);
  const host = env.RELAY_HOST?.replace(/^\[(.*)\]$/, "$1") ?? "127.0.0.1";
  const publicUrl = env.RELAY_PUBLIC_URL === undefined ? null : publicUrlOf(env.RELAY_PUBLIC_URL);
  const configSource = configSourceOf(env.RELAY_CONFIG, readText);
  const config = parseConfig(configSource.read());
  const local = !hosted && LOOPBACK.has(host) && publicUrl === null &&
    config.trusted_proxies.length === 0;
  const settings = {
    ...readStoreSettings(env, hosted),
    host,
    port: portOf(env.RELAY_PORT ?? "9081"),
    tls: tlsOf(env, readText),
    publicUrl,
    signup: signupOf(env.RELAY_SIGNUP, local),
    local,
    config,
    configSource,
  };
  return { ...settings, variables: showVariables(settings, Object.keys(env)) };
}

/**
 * Reads the location of the store and its secrets.
 * @throws {Error} with the name of the variable and what it may be
 */
export function readStoreSettings(variables: Environment, hosted: boolean): StoreSettings {
  const env = setVariables(variables);
  const kv = env.RELAY_KV ?? (hosted ? null : ".relay/relay.kv");
  const remote = kv === null || isRemote(kv);
  const [scheme] = kv?.match(/^[a-z][a-z0-9+.-]*:\/\//i) ?? [];
  if (scheme !== undefined && !remote) {
    throw new Error(
      `RELAY_KV begins with "${scheme}": give a path, :memory:, or the http or https address of ` +
        "a KV Connect server",
    );
  }
  if (remote && env.RELAY_SECRET === undefined) {
    throw new Error(
      "RELAY_SECRET is not set: a shared or hosted store needs one, such as `openssl rand -base64 32`",
    );
  }
  // One variable for each, because a secret may contain any character.
  const olderSecrets = Object.keys(env).filter((name) => /^RELAY_SECRET_OLD(_\w+)?$/.test(name))
    .sort().map((name) => env[name]!);
  return { kv, secret: env.RELAY_SECRET ?? null, olderSecrets };
}

/** Empty variables count as unset: files of settings leave a variable out this way. */
const setVariables = (variables: Environment): Environment =>
  Object.fromEntries(
    Object.entries(variables).filter(([name, text = ""]) =>
      text !== "" && !isServicePort(name, text)
    ),
  );

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new Error(`RELAY_PORT is ${JSON.stringify(text)}: give a number from 0 to 65535`);
}

function publicUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
    return url.origin;
  }
  throw new Error(
    `RELAY_PUBLIC_URL is ${JSON.stringify(text)}: give an http or https address without a path`,
  );
}

function signupOf(text: string | undefined, local: boolean): Settings["signup"] {
  if (text === undefined) return local ? "open" : "invite";
  if (text === "open" || text === "invite" || text === "closed") return text;
  throw new Error(`RELAY_SIGNUP is ${JSON.stringify(text)}: give open, invite or closed`);
}

function tlsOf(
  env: Environment,
  readText: (path: string) => string,
): Settings["tls"] {
  const { RELAY_TLS_CERT: cert, RELAY_TLS_KEY: key } = env;
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined) {
    throw new Error("set both RELAY_TLS_CERT and RELAY_TLS_KEY, or neither");
  }
  const read = (name: string, path: string) => readNamed(name, path, readText);
  return { cert: read("RELAY_TLS_CERT", cert), key: read("RELAY_TLS_KEY", key) };
}

/** Reads the file that a variable names. @throws {Error} that names the variable */
function readNamed(name: string, path: string, readText: (path: string) => string): string {
  try {
    return readText(path);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(`${name} names ${JSON.stringify(path)}, which cannot be read: ${why}`, {
      cause,
    });
  }
}

function configSourceOf(
  text: string | undefined,
  readText: (path: string) => string,
): ConfigSource {
  if (text === undefined || text.trim() === "") return NO_SOURCE;
  if (text.trimStart().startsWith("{")) {
    return { kind: "environment", path: null, read: () => text };
  }
  // `trim` also removes a byte order mark, which some editors write.
  const read = () => readNamed("RELAY_CONFIG", text, readText).trim();
  return { kind: "file", path: text, read };
}
