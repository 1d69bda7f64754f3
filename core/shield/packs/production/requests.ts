import { operands } from "../../programs/arguments.ts";
import { HTTP_CLIENTS, isAddress, requestOf } from "../network/http.ts";
import { type CodeScan, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { Body, changesService } from "./apis.ts";

function requestsChange(command: SimpleCommand): boolean {
  const request = requestOf(command);
  if (request === null) return false;
  const { method, urls, signed } = request;
  const body = new Body(request.body);
  return urls.some((url) => changesService({ method, url, body, signed }));
}

/** Names of calls that send something, and the method that they send it by. */
const SENDING = /(?:^|\.)(post|put|patch)(?:_form|json)?$/;
const METHOD = /^(?:POST|PUT|PATCH|DELETE)$/;

function codeChanges({ names, strings, code }: CodeScan): boolean {
  const urls = strings.filter((text) => isAddress(text) && text.includes("/"));
  if (urls.length === 0) return false;
  const methods = new Set(strings.filter((text) => METHOD.test(text)));
  for (const name of names) {
    const method = SENDING.exec(name)?.[1];
    if (method !== undefined) methods.add(method.toUpperCase());
  }
  const signed = names.has("authorization") || names.has("auth");
  const body = new Body(code);
  return methods.values().some((method) =>
    urls.some((url) => changesService({ method, url, body, signed }))
  );
}

const RPC_CLIENTS = ["grpcurl", "evans", "grpc_cli", "buf", "ghz"];
const RPC_VALUED = new Set([
  "-d",
  "-H",
  "-proto",
  "-import-path",
  "-protoset",
  "-rpc-header",
  "-max-time",
  "-authority",
  "-cacert",
  "-cert",
  "-key",
  "--data",
  "--header",
  "--schema",
  "--call",
]);

/** Beginnings of methods that change something; those that destroy do so on a developer's machine too. */
const CHANGING =
  /^(?:batch)?(?:create|update|set|put|add|patch|insert|upsert|apply|deploy|scale|write|register|enable|grant|restart|start|cancel|resume|rotate|publish|send|import|move|rename|approve|promote)/i;
const DESTROYING =
  /^(?:batch|force|bulk)?(?:delete|remove|drop|purge|reset|shutdown|stop|kill|terminate|defragment|disable|revoke|deregister|truncate|destroy|flush|wipe)/i;

function callsChange(command: SimpleCommand): boolean {
  const words = operands(command, RPC_VALUED);
  if (command.name === "grpcurl" && (words.includes("describe") || words.includes("list"))) {
    return false;
  }
  const names = words.map((word) => word.replace(/^https?:\/\/[^/]*\//, ""))
    .filter((word) => /^[\w.]+[./]\w+$/.test(word));
  const method = names.at(-1)?.split(/[./]/).at(-1) ?? "";
  if (DESTROYING.test(method)) return true;
  return CHANGING.test(method) &&
    !command.args.some((arg) => /^(?:localhost|127\.[\d.]+|\[::1\]):/.test(arg));
}

/** Changes of services through their interfaces. */
export const REQUEST_CHANGES: readonly Rule[] = [
  rule({
    id: "production.api_request",
    title: "Change something through a service's interface",
    commands: HTTP_CLIENTS,
    match: requestsChange,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It asks a service that runs products to change something.",
    safer: "Read the same address with GET first, and let somebody check the body.",
    hits: [
      "curl -X PATCH https://api.github.com/repos/acme/app -d '{\"private\":false}'",
      "curl http://es:9200/_cluster/settings -XPUT -d '{\"transient\":{}}'",
      "gh api repos/acme/app/dispatches -f event_type=deploy",
      "http consul:8500/v1/kv/app value=x",
      "az rest --method post --uri https://management.azure.com/subscriptions/s/x/powerOff",
      "wget --post-file=d.json http://es:9200/_bulk",
    ],
    misses: [
      "curl -X POST http://es:9200/logs/_search -d '{\"query\":{}}'",
      "curl -X POST http://localhost:3000/webhook -d '{}'",
      "gh api repos/acme/app/pulls",
      "gh api repos/acme/app/issues/1/comments -f body=hi",
      'curl https://api.github.com/graphql -d \'{"query":"{ viewer { login } }"}\'',
      "http GET https://api.github.com/search/issues q==x",
    ],
  }),
  rule({
    id: "production.code_request",
    title: "Change something through a service's interface in code",
    matchCode: codeChanges,
    weight: [3, 3],
    threat: "production_change",
    explanation: "The code asks a service that runs products to change something.",
    safer: "Read the same address with GET first, and let somebody check the body.",
    hits: [
      `python3 -c "import requests; requests.put('http://consul:8500/v1/kv/a', data='x')"`,
      `node -e "axios.patch('https://api.github.com/repos/a/b', {})"`,
      `ruby -e 'Net::HTTP.post(URI("https://api.stripe.com/v1/refunds"), "charge=x")'`,
    ],
    misses: [
      `python3 -c "import requests; requests.post('http://localhost:5000/hook', json={})"`,
      `python3 -c "import requests; print(requests.get('https://api.github.com').status_code)"`,
      `node -e "axios.get('https://api.github.com/repos/a/b').then(console.log)"`,
    ],
  }),
  rule({
    id: "production.rpc_request",
    title: "Call a method that changes something",
    commands: RPC_CLIENTS,
    match: callsChange,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It calls a method of a service that changes or stops something.",
    safer: "Call the method that reads the same thing first.",
    hits: [
      "grpcurl -d '{\"id\":1}' api.example.com:443 shop.v1.Orders/DeleteOrder",
      "grpcurl -plaintext localhost:50051 admin.Admin/Shutdown",
      "grpcurl -d '{}' api:443 users.Users.UpdateUser",
    ],
    misses: [
      "grpcurl -plaintext localhost:50051 list",
      "grpcurl -d '{}' api:443 shop.v1.Orders/ListOrders",
      "grpcurl api:443 describe shop.v1.Orders",
    ],
  }),
];
