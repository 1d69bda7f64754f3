import { type CodeScan, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { HTTP_CLIENTS, isTried, requestOf } from "./http.ts";

/** The addresses at which clouds hand out a machine's own credentials. */
export const METADATA = new RegExp(
  [
    "169.254.169.254",
    "metadata.google.internal",
    "100.100.100.200",
    "fd00:ec2::254",
    "169.254.170.2",
    "2852039166",
    "0xa9fea9fe",
  ].join("|").replaceAll(".", "\\."),
);

/** What says where and what a machine is, and holds no credential. */
const ONLY_PLACE = new RegExp(
  "^(?:http://)?(?:169\\.254\\.169\\.254|metadata\\.google\\.internal|100\\.100\\.100\\.200)/" +
    "(?:[\\w.-]+/meta-data/(?:placement/[\\w/-]+|instance-id|instance-type|ami-id|hostname|local-hostname|public-hostname|" +
    "local-ipv4|public-ipv4|mac|region-id|zone-id)|" +
    "computeMetadata/v1/(?:instance/(?:zone|id|name|hostname|machine-type|image|cpu-platform)|project/(?:project-id|numeric-project-id)))/?$",
);

/** Requests that destroy at the other end, or ask for credentials. */
export const REQUEST_RULES: readonly Rule[] = [
  rule({
    id: "network.metadata",
    title: "Ask the cloud's metadata service",
    commands: [
      "curl",
      "wget",
      "http",
      "xh",
      "nc",
      "ncat",
      "fetch",
      "lynx",
      "iwr",
      "invoke-webrequest",
      "irm",
      "aria2c",
    ],
    match: ({ args }) =>
      args.some((arg) => METADATA.test(arg.toLowerCase()) && !ONLY_PLACE.test(arg)),
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation:
      "It asks the cloud's metadata service, which hands out the machine's own credentials.",
    safer: "Use the cloud's tool, which asks for a short-lived credential itself.",
    hits: [
      "curl http://169.254.169.254/latest/meta-data/iam/security-credentials/",
      "wget -qO- http://169.254.169.254/latest/user-data",
    ],
    misses: ["curl http://192.168.1.10/status", "wget -q https://example.com/data.json"],
  }),
  rule({
    id: "network.delete_request",
    title: "Ask a service to delete something",
    commands: HTTP_CLIENTS,
    match: deletesRemotely,
    matchCode: deletesInCode,
    evenRehearsed: true,
    weight: [3, 4],
    threat: "remote_deletion",
    explanation: "It asks a service to delete something.",
    safer: "Read the same address with GET first, and take a backup.",
    hits: [
      "curl -X DELETE https://es.example/logs",
      "gh api -X DELETE repos/acme/payments",
      `node -e "got.delete('https://api.example.com/users/1')"`,
      `python3 -c "import requests; requests.delete('https://api.example.com/users/1')"`,
    ],
    misses: [
      "curl -X POST https://api.example.com/jobs",
      "gh issue list --label bug",
      `python3 -c "import requests; print(requests.get('https://api.example.com/users/1'))"`,
    ],
  }),
];

/** The ends of paths that destroy, without their queries. */
const DESTRUCTIVE_ENDS = [
  "_delete_by_query",
  "dodelete",
  "/destroy",
  "/purge",
  "/wipe",
  "_close",
  "_flush_all",
  "/shutdown",
  "/drop",
  "/truncate",
  "/terminate",
  "/dowipeoutworkspace",
  "/_shutdown",
  "/quit",
  "/-/quit",
  "delete_series",
  "/kill",
  "/safeexit",
  "/exit",
  "/saferestart",
];
const DESTRUCTIVE = new RegExp(`(?:${DESTRUCTIVE_ENDS.join("|")})$`);
const DESTRUCTIVE_MAX = Math.max(...DESTRUCTIVE_ENDS.map((end) => end.length));

const CODE_CLIENT =
  /(?:^|\.)(?:requests|httpx|axios|session|got|ky|superagent|faraday|httparty|client|http)\.(?:delete|del)$/;

/** `Net::HTTP.new(host).delete("/users/1")`: what is deleted is an address. */
const CALL = /(?:\.|->)(?:delete|del)\(\s*["'`](?:https?:\/)?\/\w/;

/** A client's `delete`, or the method beside an address: `{ method: "DELETE" }`. */
function deletesInCode({ code, names, strings }: CodeScan): boolean {
  return names.values().some((name) => CODE_CLIENT.test(name)) || CALL.test(code) ||
    (strings.includes("DELETE") && strings.some((text) => text.includes("://")));
}

const DELETING = new Set(["DELETE", "PURGE"]);
const OVERRIDE = /^x-http-method-override: delete/i;

function deletesRemotely(command: SimpleCommand): boolean {
  const request = requestOf(command);
  if (request === null) return false;
  const { method, urls } = request;
  if (DELETING.has(method)) return !(urls.length > 0 && urls.every(isTried));
  if (command.args.some((arg) => OVERRIDE.test(arg))) return true;
  const writes = method === "POST" || method === "PUT";
  return writes && command.args.some(destroys);
}

function destroys(arg: string): boolean {
  const url = arg.toLowerCase();
  if (url.includes("/delete?")) return true;
  const query = url.indexOf("?");
  const end = query < 0 ? url.length : query;
  return DESTRUCTIVE.test(url.slice(Math.max(0, end - DESTRUCTIVE_MAX), end));
}
