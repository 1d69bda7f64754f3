type Environment = Readonly<Record<string, string | undefined>>;

/** What `relay serve` and whatever works on its store read of the environment, as the help says it. */
export const SETTINGS: Readonly<Record<string, string>> = {
  RELAY_HOST: "address to bind (127.0.0.1)",
  RELAY_PORT: "port (9081)",
  RELAY_TLS_CERT: "certificate file, with RELAY_TLS_KEY: serves HTTPS",
  RELAY_TLS_KEY: "the key file of that certificate",
  RELAY_KV: "store: a path, :memory:, or a KV Connect URL (.relay/relay.kv)",
  RELAY_SECRET: "seals secrets in the store; made beside an embedded store when it is not set",
  RELAY_SECRET_OLD:
    "the one before it (more: RELAY_SECRET_OLD_2): see `relay secret rotate --help`",
  RELAY_PUBLIC_URL: "the address that others use",
  RELAY_SIGNUP: "open, invite or closed (open on loopback, else invite)",
  RELAY_CONFIG: "a JSON file, or JSON: plans, default_plan, limits, auth, webhooks, outbound,\n" +
    "retention_days, legal_hold, trusted_proxies, allowed_origins",
};

/** The other names: of other commands, and RELAY_KEY of the documentation's examples. */
const OTHERS = ["RELAY_URL", "RELAY_TOKEN", "RELAY_WEBHOOK_SECRET", "RELAY_KEY"];
const NAMES = [...Object.keys(SETTINGS), ...OTHERS];

/** More old secrets, what the tests take, and what containers are told of services. */
const NO_MISTAKE = [
  /^RELAY_SECRET_OLD_\w+$/,
  /^RELAY_TEST_\w+$/,
  /_SERVICE_(HOST|PORT)(_\w+)?$/,
  /_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/,
];
/** A name with more wrong letters may be meant to be anything. */
const WRONG_LETTERS_MAX = 2;

/** The address of a service, such as `tcp://10.0.0.1:80`: Kubernetes puts it into `<SERVICE>_PORT`. */
const isService = (text: string): boolean => /^(tcp|udp|sctp):\/\//.test(text);

/** True for a port that nobody has set, but that of a service named relay. */
export const isServicePort = (name: string, text: string): boolean =>
  name === "RELAY_PORT" && isService(text);

/** A sentence for each variable that looks like one of Relay's and is not read. Values may be secret. */
export function unreadVariables(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, text = ""]) => {
    if (!/^relay_/i.test(name) || text === "") return [];
    if (isServicePort(name, text)) return [SERVICE_PORT];
    if (name.endsWith("_PORT") && isService(text)) return [];
    if (NAMES.includes(name) || NO_MISTAKE.some((pattern) => pattern.test(name))) return [];
    const near = nearestTo(name);
    const what = near === undefined ? "`relay help` lists those" : `did you mean ${near}?`;
    return [`${JSON.stringify(name)} is no variable that Relay reads: ${what}`];
  });
}

const SERVICE_PORT = "RELAY_PORT is not taken: it is the address of a service named relay, which " +
  "Kubernetes tells its containers. Set it to a port, or `enableServiceLinks: false` in the pod";

/** The name that was meant, with something wrong in it or more behind it. */
function nearestTo(name: string): string | undefined {
  const written = name.toUpperCase();
  const ranked = NAMES.map((known) => ({ known, wrong: lettersBetween(written, known) }))
    .sort((a, b) => a.wrong - b.wrong);
  return ranked.find(({ known, wrong }) =>
    wrong <= WRONG_LETTERS_MAX || written.startsWith(`${known}_`)
  )?.known;
}

/** How many letters are to be changed, added or left out to make one of the other (Levenshtein). */
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
