import type { Config, ConfigSource } from "./config.ts";

/** What the environment sets. Everything else is in the configuration. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** A path, `:memory:` or a KV Connect URL; null means the database that the platform attached. */
  readonly kv: string | null;
  readonly secret: string | null;
  /** Earlier secrets, which still open what they sealed. */
  readonly olderSecrets: readonly string[];
  readonly publicUrl: string | null;
  readonly signup: "open" | "invite" | "closed";
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

/** The origin under which clients reach the relay. */
export const publicOrigin = (
  { publicUrl, host, port, tls }: Pick<Settings, "publicUrl" | "host" | "port" | "tls">,
): string =>
  publicUrl ??
    `${tls === null ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
