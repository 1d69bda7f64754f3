type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that `relay serve` and the commands on its store read, as the help describes them. */
export const SETTINGS: Readonly<Record<string, string>> = {
  RELAY_HOST: "address to bind (127.0.0.1)",
  RELAY_PORT: "port (9081)",
  RELAY_TLS_CERT: "certificate file, with RELAY_TLS_KEY: serves HTTPS",
  RELAY_TLS_KEY: "the key file of that certificate",
  RELAY_KV: "store: a path, :memory:, or a KV Connect URL (.relay/relay.kv)",
  RELAY_SECRET: "seals secrets in the store; made beside an embedded store when it is not set",
  RELAY_SECRET_OLD:
    "the former secret (more: RELAY_SECRET_OLD_2): see `relay secret rotate --help`",
  RELAY_PUBLIC_URL: "the address that others use",
  RELAY_SIGNUP: "open, invite or closed (open on loopback, else invite)",
  RELAY_CONFIG: "a JSON file, or JSON: plans, default_plan, limits, auth, webhooks, outbound,\n" +
    "retention_days, legal_hold, trusted_proxies, allowed_origins",
};

/** Variables of other commands, and RELAY_KEY of the documentation's examples. */
const OTHERS = ["RELAY_URL", "RELAY_TOKEN", "RELAY_WEBHOOK_SECRET", "RELAY_KEY"];
const NAMES = [...Object.keys(SETTINGS), ...OTHERS];

/** Further old secrets, variables of the tests, and service variables that containers get. */
const IGNORED = [
  /^RELAY_SECRET_OLD_\w+$/,
  /^RELAY_TEST_\w+$/,
  /_SERVICE_(HOST|PORT)(_\w+)?$/,
  /_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/,
];
/** A name with more wrong letters gets no suggestion. */
const WRONG_LETTERS_MAX = 2;

/** True for a service address such as `tcp://10.0.0.1:80`, which Kubernetes puts into `<SERVICE>_PORT`. */
const isService = (text: string): boolean => /^(tcp|udp|sctp):\/\//.test(text);

/** True for RELAY_PORT as Kubernetes sets it for a service named relay. */
export const isServicePort = (name: string, text: string): boolean =>
  name === "RELAY_PORT" && isService(text);

/** A warning for each variable that looks like one of Relay's and is not read. Values may be secret. */
export function unreadVariables(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, text = ""]) => {
    if (!/^relay_/i.test(name) || text === "") return [];
    if (isServicePort(name, text)) return [SERVICE_PORT];
    if (name.endsWith("_PORT") && isService(text)) return [];
    if (NAMES.includes(name) || IGNORED.some((pattern) => pattern.test(name))) return [];
    const near = nearestTo(name);
    const what = near === undefined ? "`relay help` lists the valid ones" : `did you mean ${near}?`;
    return [`Relay does not read the variable ${JSON.stringify(name)}: ${what}`];
  });
}

const SERVICE_PORT = "RELAY_PORT is ignored: it is the address of a service named relay, which " +
  "Kubernetes sets. Set it to a port, or set `enableServiceLinks: false` in the pod";

/** The most similar known name, or the known name that this one begins with. */
function nearestTo(name: string): string | undefined {
  const written = name.toUpperCase();
  const ranked = NAMES.map((known) => ({ known, wrong: lettersBetween(written, known) }))
    .sort((a, b) => a.wrong - b.wrong);
  return ranked.find(({ known, wrong }) =>
    wrong <= WRONG_LETTERS_MAX || written.startsWith(`${known}_`)
  )?.known;
}

/** The Levenshtein distance. */
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
