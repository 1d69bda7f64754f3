import { nearestOf } from "../codec/codec.ts";
import { ENVIRONMENT, type Environment, isService, isServicePort } from "./environment.ts";

/** Variables that only other commands read, and RELAY_KEY of the documentation's examples. */
const OTHERS = ["RELAY_URL", "RELAY_TOKEN", "RELAY_WEBHOOK_SECRET", "RELAY_KEY"];
const NAMES = [...Object.keys(ENVIRONMENT), ...OTHERS];

/** More old secrets, variables of the tests and of agents, and what containers get for services. */
const IGNORED = [
  /^RELAY_SECRET_OLD_\w+$/,
  /^RELAY_TEST_\w+$/,
  // An agent sets it for the program that it supervises.
  /^RELAY_AGENT_UPGRADE$/,
  /_SERVICE_(HOST|PORT)(_\w+)?$/,
  /_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/,
];
/** A sentence for each variable that looks like a setting but is not read. Values may be secret and are left out. */
export function unreadVariables(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, text = ""]) => {
    if (!/^relay_/i.test(name) || text === "") return [];
    if (isServicePort(name, text)) return [SERVICE_PORT];
    if (name.endsWith("_PORT") && isService(text)) return [];
    if (NAMES.includes(name) || IGNORED.some((pattern) => pattern.test(name))) return [];
    const near = nearestTo(name);
    const what = near === undefined ? "`relay serve --help` lists them" : `did you mean ${near}?`;
    return [`${JSON.stringify(name)} is not a variable that Relay reads: ${what}`];
  });
}

const SERVICE_PORT = "RELAY_PORT is ignored: Kubernetes set it to the address of a service named " +
  "relay. Set it to a port, or set `enableServiceLinks: false` in the pod";

/** The setting that a misspelt or extended name probably means. */
function nearestTo(name: string): string | undefined {
  const written = name.toUpperCase();
  return nearestOf(written, NAMES) ?? NAMES.find((known) => written.startsWith(`${known}_`));
}
