import { shownLocation } from "../../kv/maintenance/location.ts";
import type { Settings, ShownVariable } from "../context/context.ts";

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One environment variable of `relay serve` and the commands that work on its store. */
interface Setting {
  /** For the help and docs/configuration.md. */
  readonly meaning: string;
  readonly default?: string;
  /** The value in force, for `GET /api/admin/config`; secrets are masked there. */
  readonly show: (settings: Omit<Settings, "variables">) => unknown;
}

/** Every setting: the help, the documentation, the warnings about unknown names and the API show this table. */
export const SETTINGS: Readonly<Record<string, Setting>> = {
  RELAY_HOST: {
    meaning: "address to listen on",
    default: "127.0.0.1",
    show: ({ host }) => host,
  },
  RELAY_PORT: { meaning: "port to listen on", default: "9081", show: ({ port }) => port },
  RELAY_TLS_CERT: {
    meaning: "PEM file of the certificate for HTTPS; needs RELAY_TLS_KEY",
    show: ({ tls }) => tls === null ? null : "set",
  },
  RELAY_TLS_KEY: {
    meaning: "PEM file of the private key of that certificate",
    show: ({ tls }) => tls === null ? null : "set",
  },
  RELAY_KV: {
    meaning: "store: a path, :memory: or a KV Connect URL",
    default: ".relay/relay.kv; on Deno Deploy the attached database",
    show: ({ kv }) => kv === null ? null : shownLocation(kv),
  },
  RELAY_SECRET: {
    meaning: "secret that seals values in the store; required for a shared or hosted store",
    default: "a 0600 file beside an embedded store",
    show: ({ secret }) => secret,
  },
  RELAY_SECRET_OLD: {
    meaning: "previous secret (more: RELAY_SECRET_OLD_2), until `relay secret rotate` has run",
    show: ({ olderSecrets }) => olderSecrets.length === 0 ? null : olderSecrets.length,
  },
  RELAY_PUBLIC_URL: {
    meaning: "address that clients use, without a path",
    show: ({ publicUrl }) => publicUrl,
  },
  RELAY_SIGNUP: {
    meaning: "who may create an organization: open, invite or closed",
    default: "open on loopback, else invite",
    show: ({ signup }) => signup,
  },
  RELAY_CONFIG: {
    meaning: "a JSON file, or JSON: plans, default_plan, limits, auth, webhooks, outbound, " +
      "retention_days, legal_hold, trusted_proxies, allowed_origins",
    show: ({ configSource }) => configSource.path,
  },
};

/** Variables that only other commands read, and RELAY_KEY of the documentation's examples. */
const OTHERS = ["RELAY_URL", "RELAY_TOKEN", "RELAY_WEBHOOK_SECRET", "RELAY_KEY"];
const NAMES = [...Object.keys(SETTINGS), ...OTHERS];

/** The settings as an administrator may see them; `given` has the names of the variables that are set. */
export const showVariables = (
  settings: Omit<Settings, "variables">,
  given: readonly string[],
): ShownVariable[] =>
  Object.entries(SETTINGS).map(([name, { show }]) => ({
    name,
    value: show(settings),
    given: given.includes(name),
  }));

/** More old secrets, variables of the tests, and what containers get for services. */
const IGNORED = [
  /^RELAY_SECRET_OLD_\w+$/,
  /^RELAY_TEST_\w+$/,
  /_SERVICE_(HOST|PORT)(_\w+)?$/,
  /_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/,
];
/** With more wrong letters, a name resembles nothing in particular. */
const WRONG_LETTERS_MAX = 2;

/** The address of a service, such as `tcp://10.0.0.1:80`: Kubernetes puts it into `<SERVICE>_PORT`. */
const isService = (text: string): boolean => /^(tcp|udp|sctp):\/\//.test(text);

/** True when RELAY_PORT was set by Kubernetes for a service named relay, not by a person. */
export const isServicePort = (name: string, text: string): boolean =>
  name === "RELAY_PORT" && isService(text);

/** A sentence for each variable that looks like a setting but is not read. Values may be secret and are left out. */
export function unreadVariables(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, text = ""]) => {
    if (!/^relay_/i.test(name) || text === "") return [];
    if (isServicePort(name, text)) return [SERVICE_PORT];
    if (name.endsWith("_PORT") && isService(text)) return [];
    if (NAMES.includes(name) || IGNORED.some((pattern) => pattern.test(name))) return [];
    const near = nearestTo(name);
    const what = near === undefined ? "`relay help` lists them" : `did you mean ${near}?`;
    return [`${JSON.stringify(name)} is not a variable that Relay reads: ${what}`];
  });
}

const SERVICE_PORT = "RELAY_PORT is ignored: Kubernetes set it to the address of a service named " +
  "relay. Set it to a port, or set `enableServiceLinks: false` in the pod";

/** The setting that a misspelt or extended name probably means. */
function nearestTo(name: string): string | undefined {
  const written = name.toUpperCase();
  const ranked = NAMES.map((known) => ({ known, wrong: lettersBetween(written, known) }))
    .sort((a, b) => a.wrong - b.wrong);
  return ranked.find(({ known, wrong }) =>
    wrong <= WRONG_LETTERS_MAX || written.startsWith(`${known}_`)
  )?.known;
}

/** The Levenshtein distance between two names. */
function lettersBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...other].entries()) {
      const changed = row[j]! + (letter === wanted ? 0 : 1);
      next.push(Math.min(changed, row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
