import { z } from "zod";
import { MCP_RESOURCES } from "../../core/access/mcp_clients/consent.ts";
import { routes, upgrades } from "../../routes/index.ts";

/** Addresses that answer without a route of their own. */
const OTHER: readonly string[] = [
  ...MCP_RESOURCES.map((path) => `POST ${path}`),
  ...upgrades.map(({ path }) => `GET ${path}`),
];

/** A request that a page shows. */
export interface Shown {
  readonly method: string;
  /** The path, with the query. */
  readonly address: string;
  readonly body?: string;
}

/** The request of a curl command's words. */
export function curlRequest(words: readonly string[]): Shown {
  let method: string | undefined, body: string | undefined, address = "";
  for (let at = 1; at < words.length; at++) {
    const word = words[at]!;
    if (word === "-X") method = words[++at];
    else if (word === "-d" || word === "--json") body = words[++at];
    else if (word === "-H" || word === "-o") at++;
    else if (!word.startsWith("-")) address = word;
  }
  // The relay is a name, $RELAY or a whole URL.
  const path = address.replace(/^(?:https?:\/\/)?[^/]+(?=\/)/, "");
  return {
    method: method ?? (body === undefined ? "GET" : "POST"),
    address: path,
    ...(body !== undefined && { body }),
  };
}

/** Says which endpoint, parameter of the query or field of the body does not exist; null if all do. */
export function requestFault({ method, address, body }: Shown): string | null {
  const [path, query = ""] = address.split("?");
  if (OTHER.includes(`${method} ${path}`)) return null;
  const here = routes.filter((route) => matches(route.path, path!));
  const route = here.find((each) => each.method === method);
  if (route === undefined) return `no endpoint ${method} ${path}`;
  if (!route.ignoresUnknownQuery) {
    const known = route.query?.shape ?? {};
    const wrong = [...new URLSearchParams(query).keys()].find((name) =>
      !Object.hasOwn(known, name)
    );
    if (wrong !== undefined) return `${method} ${path} has no parameter ${wrong}`;
  }
  if (body === undefined) return null;
  if (route.body === undefined) return `${method} ${path} takes no body`;
  const parsed = route.body.safeParse(JSON.parse(body));
  return parsed.success ? null : `${method} ${path}: ${z.prettifyError(parsed.error)}`;
}

/** Whether a path of a page fits a pattern; what stands for a parameter is one part of it. */
function matches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  return wanted.length === given.length &&
    wanted.every((part, at) => part === given[at] || part.startsWith("{") && given[at] !== "");
}
