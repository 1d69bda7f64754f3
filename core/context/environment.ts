import { z } from "zod";
import { isRemote, shownLocation } from "../../kv/maintenance/location.ts";
import { type AccessRule, CONFIG_FIELDS, type ConfigSource } from "./config.ts";

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Who may create an organization. */
export type Signup = "open" | "invite" | "closed";

/** What reading a variable may depend on. */
export interface Surroundings {
  /** The variables that are set. */
  readonly env: Environment;
  /** Reads a file that a variable names. */
  readonly readText: (path: string) => string;
  /** True when a hosting platform starts and ends this process. */
  readonly hosted: boolean;
}

/** One environment variable of `relay serve` and the commands that work on its store. */
export interface Variable<Value> {
  /** For the help and docs/configuration.md. */
  readonly meaning: string;
  readonly default?: string;
  /** @throws {Error} with the name of the variable and what it may be */
  read(text: string | undefined, surroundings: Surroundings): Value;
  /** The value in force, for `GET /api/admin/config`; secrets are masked there. By default what `read` returns. */
  show?(value: Value, inForce: { readonly signup: Signup }): unknown;
}

const variable = <Value>(row: Variable<Value>): Variable<Value> => row;

/** Every variable: the settings, the help, the documentation, the warnings about unknown names and the API read this table. */
export const ENVIRONMENT = {
  RELAY_HOST: variable({
    meaning: "address to listen on",
    default: "127.0.0.1",
    read: (text) => text?.replace(/^\[(.*)\]$/, "$1") ?? "127.0.0.1",
  }),
  RELAY_PORT: variable({ meaning: "port to listen on", default: "9081", read: portOf }),
  RELAY_TLS_CERT: variable({
    meaning: "PEM file of the certificate for HTTPS; needs RELAY_TLS_KEY",
    read: (path, surroundings) => pemOf("RELAY_TLS_CERT", path, surroundings),
    show: (pem) => pem === null ? null : "set",
  }),
  RELAY_TLS_KEY: variable({
    meaning: "PEM file of the private key of that certificate",
    read: (path, surroundings) => pemOf("RELAY_TLS_KEY", path, surroundings),
    show: (pem) => pem === null ? null : "set",
  }),
  RELAY_KV: variable({
    meaning: "store: a path, :memory: or a KV Connect URL",
    default: ".relay/relay.kv; on Deno Deploy the attached database",
    read: locationOf,
    show: (kv) => kv === null ? null : shownLocation(kv),
  }),
  RELAY_SECRET: variable({
    meaning: "secret that seals values in the store; required for a shared or hosted store",
    default: "a 0600 file beside an embedded store",
    read: (text) => text ?? null,
  }),
  RELAY_SECRET_OLD: variable({
    meaning: "previous secret (more: RELAY_SECRET_OLD_2), until `relay secret rotate` has run",
    // One variable for each, because a secret may contain any character.
    read: (_, { env }) =>
      Object.keys(env).filter((name) => /^RELAY_SECRET_OLD(_\w+)?$/.test(name)).sort()
        .map((name) => env[name]!),
    show: (secrets) => secrets.length === 0 ? null : secrets.length,
  }),
  RELAY_ISSUER_SECRETS: variable({
    meaning: 'secrets of clients in `auth.issuers`, as JSON: `{"<client_id>":"<secret>"}`',
    read: clientSecretsOf,
    show: (secrets) => secrets.size === 0 ? null : secrets.size,
  }),
  RELAY_PUBLIC_URL: variable({
    meaning: "address that clients use, without a path",
    read: publicUrlOf,
  }),
  RELAY_SIGNUP: variable({
    meaning: "who may create an organization: open, invite or closed",
    default: "open on loopback, else invite",
    read: signupOf,
    show: (_, { signup }) => signup,
  }),
  RELAY_LOG_LEVEL: variable({
    meaning: "least level of lines in the log: info, warn or error",
    default: "info",
    read: logLevelOf,
  }),
  RELAY_ACCESS_LOG: variable({
    meaning: "requests in the log: off, errors, all, or a share of all such as 0.1",
    default: "`access_log` of RELAY_CONFIG",
    read: accessRuleOf,
  }),
  RELAY_AGENT_PROGRAMS: variable({
    meaning: "folder of the programs that agents are upgraded to (docs/upgrades.md)",
    read: (text) => text ?? null,
  }),
  RELAY_CONFIG: variable({
    meaning: `a JSON file, or JSON: ${CONFIG_FIELDS.join(", ")}`,
    read: configSourceOf,
    show: ({ path }) => path,
  }),
};

/** The value of each variable, of the type that its row reads. */
export type Given = {
  readonly [Name in keyof typeof ENVIRONMENT]: ReturnType<(typeof ENVIRONMENT)[Name]["read"]>;
};

/** The address of a service, such as `tcp://10.0.0.1:80`: Kubernetes puts it into `<SERVICE>_PORT`. */
export const isService = (text: string): boolean => /^(tcp|udp|sctp):\/\//.test(text);

/** True when RELAY_PORT was set by Kubernetes for a service named relay, not by a person. */
export const isServicePort = (name: string, text: string): boolean =>
  name === "RELAY_PORT" && isService(text);

function portOf(text = "9081"): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new Error(`RELAY_PORT is ${JSON.stringify(text)}: give a number from 0 to 65535`);
}

function pemOf(
  name: string,
  path: string | undefined,
  { env, readText }: Surroundings,
): string | null {
  if ((env.RELAY_TLS_CERT === undefined) !== (env.RELAY_TLS_KEY === undefined)) {
    throw new Error("set both RELAY_TLS_CERT and RELAY_TLS_KEY, or neither");
  }
  return path === undefined ? null : readNamed(name, path, readText);
}

function locationOf(text: string | undefined, { hosted }: Surroundings): string | null {
  if (text === undefined) return hosted ? null : ".relay/relay.kv";
  const [scheme] = text.match(/^[a-z][a-z0-9+.-]*:\/\//i) ?? [];
  if (scheme === undefined || isRemote(text)) return text;
  throw new Error(
    `RELAY_KV begins with "${scheme}": give a path, :memory:, or the http or https address of ` +
      "a KV Connect server",
  );
}

/** The message shows nothing of the text, which holds secrets. */
function clientSecretsOf(text = "{}"): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(ClientSecrets.parse(JSON.parse(text))));
  } catch {
    throw new Error('RELAY_ISSUER_SECRETS is not JSON such as {"<client_id>":"<secret>"}');
  }
}

const ClientSecrets = z.record(z.string(), z.string().min(1).max(1024));

function publicUrlOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
    return url.origin;
  }
  throw new Error(
    `RELAY_PUBLIC_URL is ${JSON.stringify(text)}: give an http or https address without a path`,
  );
}

function signupOf(text: string | undefined): Signup | null {
  if (text === undefined) return null;
  if (text === "open" || text === "invite" || text === "closed") return text;
  throw new Error(`RELAY_SIGNUP is ${JSON.stringify(text)}: give open, invite or closed`);
}

function logLevelOf(text = "info"): "info" | "warn" | "error" {
  if (text === "info" || text === "warn" || text === "error") return text;
  throw new Error(`RELAY_LOG_LEVEL is ${JSON.stringify(text)}: give info, warn or error`);
}

function accessRuleOf(text: string | undefined): AccessRule | null {
  if (text === undefined) return null;
  if (text === "off" || text === "errors" || text === "all") return { requests: text, share: 1 };
  const share = Number(text);
  if (/^[01](\.\d{1,9})?$/.test(text) && share <= 1) return { requests: "all", share };
  throw new Error(
    `RELAY_ACCESS_LOG is ${JSON.stringify(text)}: give off, errors, all, or a share such as 0.1`,
  );
}

function configSourceOf(text: string | undefined, { readText }: Surroundings): ConfigSource {
  if (text === undefined || text.trim() === "") {
    return { kind: "none", path: null, read: () => "{}" };
  }
  if (text.trimStart().startsWith("{")) {
    return { kind: "environment", path: null, read: () => text };
  }
  // `trim` also removes a byte order mark, which some editors write.
  const read = () => readNamed("RELAY_CONFIG", text, readText).trim();
  return { kind: "file", path: text, read };
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
