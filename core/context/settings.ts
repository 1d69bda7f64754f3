import { isRemote } from "../../kv/maintenance/location.ts";
import { type Config, type ConfigSource, parseConfig } from "./config.ts";
import {
  ENVIRONMENT,
  type Environment,
  type Given,
  isServicePort,
  type Signup,
  type Surroundings,
  type Variable,
} from "./environment.ts";

/** What the environment sets. Everything else is in the configuration. */
export interface Settings {
  /** The variables as they are read. The fields below follow from several of them. */
  readonly given: Given;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** A path, `:memory:` or a KV Connect URL; null means the database that the platform attached. */
  readonly kv: string | null;
  readonly secret: string | null;
  /** Earlier secrets, which still open what they sealed. */
  readonly olderSecrets: readonly string[];
  readonly publicUrl: string | null;
  readonly signup: Signup;
  /** True when only this machine reaches the server, so that the first signup needs no code. */
  readonly local: boolean;
  readonly config: Config;
  /** The source of `config`, which a reload reads again. */
  readonly configSource: ConfigSource;
  /** The environment variables as an administrator may see them. */
  readonly variables: readonly ShownVariable[];
}

/** An environment variable and its value in force. */
export interface ShownVariable {
  readonly name: string;
  readonly value: unknown;
  /** False for a default. */
  readonly given: boolean;
}

/** The location of the store, and the secrets that open it. */
export type StoreSettings = Pick<Settings, "kv" | "secret" | "olderSecrets">;

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Reads the settings; `readText` reads the files that variables name.
 * @throws {Error} with the name of the variable and what it may be
 */
export function readSettings(
  variables: Environment,
  readText: (path: string) => string,
  hosted: boolean,
): Settings {
  const env = setVariables(variables);
  const given = readVariables({ env, readText, hosted });
  const { RELAY_HOST: host, RELAY_PUBLIC_URL: publicUrl, RELAY_CONFIG: configSource } = given;
  const { RELAY_TLS_CERT: cert, RELAY_TLS_KEY: key } = given;
  const config = parseConfig(configSource.read());
  const store = readStoreSettings(env, hosted);
  const isFile = store.kv !== null && store.kv !== ":memory:" && !isRemote(store.kv);
  if (config.backups.folder !== null && !isFile) {
    throw new Error(
      "RELAY_CONFIG sets backups.folder, but RELAY_KV names no file: back up a database server with its own tools",
    );
  }
  const local = !hosted && LOOPBACK.has(host) && publicUrl === null &&
    config.trusted_proxies.length === 0;
  const signup = given.RELAY_SIGNUP ?? (local ? "open" : "invite");
  return {
    ...store,
    given,
    host,
    port: given.RELAY_PORT,
    tls: cert === null || key === null ? null : { cert, key },
    publicUrl,
    signup,
    local,
    config,
    configSource,
    variables: showVariables(env, given, signup),
  };
}

/**
 * Reads the location of the store and its secrets.
 * @throws {Error} with the name of the variable and what it may be
 */
export function readStoreSettings(variables: Environment, hosted: boolean): StoreSettings {
  const env = setVariables(variables);
  const surroundings = { env, hosted, readText: () => "" };
  const { RELAY_KV, RELAY_SECRET, RELAY_SECRET_OLD } = ENVIRONMENT;
  const kv = RELAY_KV.read(env.RELAY_KV, surroundings);
  const secret = RELAY_SECRET.read(env.RELAY_SECRET, surroundings);
  if (secret === null && (kv === null || isRemote(kv))) {
    throw new Error(
      "RELAY_SECRET is not set: a shared or hosted store needs one, such as `openssl rand -base64 32`",
    );
  }
  const olderSecrets = RELAY_SECRET_OLD.read(env.RELAY_SECRET_OLD, surroundings);
  return { kv, secret, olderSecrets };
}

/** Empty variables count as unset: files of settings leave a variable out this way. */
const setVariables = (variables: Environment): Environment =>
  Object.fromEntries(
    Object.entries(variables).filter(([name, text = ""]) =>
      text !== "" && !isServicePort(name, text)
    ),
  );

/** The value of each row of the table. */
const readVariables = (surroundings: Surroundings): Given =>
  Object.fromEntries(
    Object.entries(ENVIRONMENT).map(([name, row]) => [
      name,
      row.read(surroundings.env[name], surroundings),
    ]),
  ) as Given;

/** The settings as an administrator may see them. */
const showVariables = (env: Environment, given: Given, signup: Signup): ShownVariable[] =>
  Object.entries<Variable<unknown>>(ENVIRONMENT).map(([name, row]) => {
    const read = given[name as keyof Given];
    const value = row.show === undefined ? read : row.show(read, { signup });
    return { name, value, given: env[name] !== undefined };
  });

/** The origin under which clients reach the relay. */
export const publicOrigin = (
  { publicUrl, host, port, tls }: Pick<Settings, "publicUrl" | "host" | "port" | "tls">,
): string =>
  publicUrl ??
    `${tls === null ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
