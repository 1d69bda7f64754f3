import { mutates } from "../../code/graphql.ts";
import { scanSql } from "../../code/sql.ts";

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Hosts of services on which teams run their products; a host stands for all below it. */
const HOSTS = words(`
  api.github.com uploads.github.com api.bitbucket.org dev.azure.com management.azure.com graph.microsoft.com
  vault.azure.net slack.com api.stripe.com api.cloudflare.com api.heroku.com api.digitalocean.com api.linode.com
  api.vultr.com api.hetzner.cloud api.scaleway.com api.ovh.com api.netlify.com api.vercel.com api.render.com
  api.fly.io api.machines.dev backboard.railway.app api.supabase.com api.neon.tech api.planetscale.com
  cloud.mongodb.com api.pagerduty.com events.pagerduty.com api.opsgenie.com api.datadoghq.com api.datadoghq.eu
  api.newrelic.com sentry.io api.sendgrid.com api.mailgun.net api.postmarkapp.com api.twilio.com hub.docker.com
  circleci.com api.buildkite.com api.travis-ci.com app.terraform.io api.fastly.com api.launchdarkly.com
  app.launchdarkly.com auth0.com okta.com api.godaddy.com api.namecheap.com api.dnsimple.com registry.npmjs.org
  upload.pypi.org pypi.org rubygems.org crates.io compute.googleapis.com container.googleapis.com
  cloudresourcemanager.googleapis.com iam.googleapis.com run.googleapis.com sqladmin.googleapis.com
  storage.googleapis.com dns.googleapis.com pubsub.googleapis.com cloudfunctions.googleapis.com
  secretmanager.googleapis.com cloudbuild.googleapis.com appengine.googleapis.com androidpublisher.googleapis.com
  serviceusage.googleapis.com firestore.googleapis.com amazonaws.com atlassian.net api.paypal.com api.shopify.com
  myshopify.com api.zoom.us api.airtable.com api.notion.com discord.com api.statuspage.io api.intercom.io
  api.hubapi.com api.razorpay.com api.braintreegateway.com api.ngrok.com api.tailscale.com api.doppler.com
  api.akamai.com api.gitea.io gitlab.com api.appstoreconnect.apple.com api.expo.dev api.snyk.io console.aiven.io
  api.aiven.io api.confluent.cloud api.pulumi.com
`);

/** Words in the names of hosts that teams run themselves. */
const HOST_WORDS = words(`
  gitlab gitea jenkins argocd argo-cd keycloak grafana consul vault nomad elasticsearch opensearch nexus artifactory
  harbor rancher portainer rabbitmq rundeck awx spinnaker prometheus alertmanager kubernetes kube-apiserver
  mimir thanos kibana graylog zabbix icinga unleash flagsmith airflow sonarqube traefik registry
`);

/** Ports on which only such services listen, also on the machine itself. */
const PORTS = new Set(
  words("2375 2376 2379 4646 6443 8001 8200 8500 9200 9201 9243 10250 15672 16443"),
);

/** How many characters behind the slash tell most of these paths apart. */
const TOLD_APART = 3;

/** Paths by their first characters behind the slash, to look at each slash of an address once. */
interface Paths {
  readonly firsts: ReadonlySet<number>;
  readonly byStart: ReadonlyMap<string, readonly string[]>;
}

const byStart = (paths: readonly string[]): Paths => ({
  firsts: new Set(paths.map((path) => path.charCodeAt(1))),
  byStart: Map.groupBy(paths, (path) => path.slice(1, 1 + TOLD_APART)),
});

/** Whether one of the paths stands anywhere in the path of an address. */
function holdsOne({ firsts, byStart }: Paths, path: string): boolean {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    if (!firsts.has(path.charCodeAt(at + 1))) continue;
    const some = byStart.get(path.slice(at + 1, at + 1 + TOLD_APART));
    if (some?.some((one) => path.startsWith(one, at))) return true;
  }
  return false;
}

/** Paths of interfaces that change what runs; found at any host that is not the machine itself. */
const PATHS = byStart(words(`
  /api/v4/ /apis/ /api/v1/namespaces /api/v1/nodes /api/v1/applications /api/v1/dags /api/v1/repos/ /api/v1/admin/
  /api/v2/silences /api/v2/job_templates /api/v2.0/ /api/dashboards/ /api/datasources /api/admin/ /api2/json/
  /v1/kv/ /v1/agent/ /v1/catalog/ /v1/acl/ /v1/sys/ /v1/secret/ /v1/auth/ /v1/jobs /v1/job/ /v1/node/ /v1/system/
  /v2/keys/ /v3/kv/ /v3/auth/ /v3/lease/ /v3/maintenance/ /v3/cluster/ /admin/realms /repository/ /artifactory/
  /rest/vcenter /api/vcenter /rest/api/ /webhdfs/ /nifi-api/ /ws/v1/cluster /v1/submissions /jars/ /build_hooks/
  /hooks/deploy /wp-json/ /manifests/ /blobs/uploads /subjects/ /connectors /job/ /createitem /scripttext
  /saferestart /quietdown /-/reload /-/quit /actuator/ /solr/admin/ /admin/ /services /routes /plugins /upstreams
  /consumers /v2/apps /redfish/
`));

/** Paths that are as plain at the machine itself: behind `kubectl proxy`, or at a container engine. */
const OWN_PATHS = byStart(words(`
  /api/v1/namespaces/ /apis/apps/ /apis/batch/ /apis/rbac /containers/create /containers/prune /images/prune
  /volumes/prune /system/prune /-/reload /-/quit /actuator/shutdown /actuator/restart
`));

/** Last words of a path that say what the call does. */
const VERBS = new Set(words(`
  deploy redeploy deployments rollback restart reboot stop start shutdown poweroff scale sync purge purge_all
  purge_cache flush flushall reset reset-password delete remove destroy disable enable suspend resume promote publish
  release releases merge merges revoke rotate drain cordon terminate migrate trigger dispatches reload unload ban
  block unblock invite deactivate activate refund refunds charges payouts transfers dagruns upgrade install
  uninstall failover freeze unfreeze lock unlock settings config config-vars
`));

/** Last words of a path behind which data only comes back, although the request has a body. */
const READS = new Set(words(`
  _search _count _msearch _mget _analyze _validate _explain _field_caps _sql _rank_eval _termvectors _mtermvectors
  _eql _esql _async_search _search_shards _knn_search _pit _simulate _render _query search count query query_range
  query_exemplars queries labels series series_summary select sql lookup lookup-self lookup-accessor introspect
  capabilities capabilities-self capabilities-accessor accessor selfsubjectaccessreviews
  subjectaccessreviews localsubjectaccessreviews selfsubjectrulesreviews tokenreviews selfsubjectreviews range
  status validate verify preview plan parse diff estimate simulate check explain export-preview decrypt encrypt
  hash login token oauth token.json authorize completions embeddings responses moderations generate rerank
  tokenize translate find aggregate list batchget batch_get tail render testiampermissions getiampolicy
  searchresources runquery fetch auth.test annotate memberlist markdown messages _ppl statement queries scroll _scroll mget multisearch
`));

/** Words before the last that make the request a question. */
const READ_PARTS = new Set(
  words("_search _msearch _sql _eql _async_search _validate _render search"),
);

const isOwn = (host: string): boolean =>
  host === "localhost" || host === "" || host === "0.0.0.0" || host === "[::1]" ||
  host === "host.docker.internal" || host.startsWith("127.") || host.endsWith(".localhost") ||
  host.endsWith(".test");

interface Address {
  readonly host: string;
  readonly port: string;
  readonly path: string;
  readonly query: string;
}

const ADDRESS = /^(?:\w+:\/\/)?(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]*)(?::(\d*))?([^?#]*)\??(.*)$/s;

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}

function readAddress(url: string): Address {
  const [, host = "", port = "", path = "", query = ""] = ADDRESS.exec(url.toLowerCase()) ?? [];
  return { host, port, path: withoutSlashes(path), query };
}

/** What a request sends; each question is answered once, however many addresses there are. */
export class Body {
  readonly #text: string;
  #mutates: boolean | null = null;
  #rpc: boolean | null | undefined;
  #sql: boolean | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /** Whether it is a GraphQL mutation. */
  get mutates(): boolean {
    return this.#mutates ??= mutates(this.#text);
  }

  /** Whether it calls a method by JSON-RPC that changes something; null for no such call. */
  get rpc(): boolean | null {
    if (this.#rpc === undefined) {
      const method = /"method"\s*:\s*"([\w.]{1,100})"/.exec(this.#text)?.[1];
      this.#rpc = method === undefined || !this.#text.includes("jsonrpc")
        ? null
        : CHANGING_RPC.test(method);
    }
    return this.#rpc;
  }

  /** Whether it holds SQL that changes something. */
  get sql(): boolean {
    return this.#sql ??= changesSql(this.#text);
  }

  /** Whether it holds the query of a time series database. */
  get isQuery(): boolean {
    return this.#text.startsWith("q=");
  }
}

const CHANGING_RPC =
  /^(?:eth_send|personal_|admin_|miner_|debug_set|send|stop|import|dump|wallet|unlock)|(?:create|update|delete|set|add|remove)$|\.(?:create|update|delete)/i;

function changesSql(text: string): boolean {
  const plain = decode(text.replaceAll("+", " ")).replace(/^(?:query|q)=/, "");
  return scanSql(plain) !== "none" || /\b(?:drop|truncate|delete|alter|insert)\b/i.test(plain);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** One call of a service. */
export interface Call {
  /** In capitals. */
  readonly method: string;
  readonly url: string;
  readonly body: Body;
  /** Sent with a password, a token or a client's certificate. */
  readonly signed: boolean;
}

/** Methods that only ask. */
const ASKING = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "LIST", "PROPFIND", "QUERY", "SEARCH"]);

/** Whether a call changes something in a service that is known to run products, or says so by its path. */
export function changesService({ method, url, body, signed }: Call): boolean {
  if (url.endsWith(".sock")) return !ASKING.has(method);
  const { host, port, path, query } = readAddress(url);
  if (path.endsWith("/admin/cores") || path.endsWith("/admin/collections")) {
    return /(?:^|&)action=(?!status|list|clusterstatus)/.test(query);
  }
  if (ASKING.has(method)) return false;
  const own = isOwn(host);
  if (path.endsWith("/graphql")) return !own && body.mutates;
  if (body.rpc !== null) return !own && body.rpc;
  const isSql = port === "8123" || host.includes("clickhouse") ||
    (path.endsWith("/query") && (body.isQuery || query.includes("q=")));
  if (isSql) return changesSql(query) || body.sql;
  if (isQuestion(path, query) || isTalk(method, path)) return false;
  if (path.includes("/solr/") && path.endsWith("/update")) return true;
  if (holdsOne(OWN_PATHS, path) || PORTS.has(port)) return true;
  if (method === "POST" && REMARK.test(path)) return false;
  if (own || NOTIFIED.some((name) => `${host}${path}`.startsWith(name))) return false;
  return signed || isKnown(host) || VERBS.has(path.slice(path.lastIndexOf("/") + 1)) ||
    path.includes("/_") || holdsOne(PATHS, path);
}

/** Collections of what people say about a thing. */
const REMARK = /\/(?:comments|notes|reactions)$/;

/** Webhooks that only tell people something. */
const NOTIFIED = ["hooks.slack.com/", "discord.com/api/webhooks/", "api.telegram.org/", "ntfy.sh/"];

const isKnown = (host: string): boolean =>
  HOSTS.some((one) => host === one || host.endsWith(`.${one}`)) ||
  HOST_WORDS.some((word) => host.includes(word));

/** Whether the path asks for data: `/logs/_search`, `/v1/auth/token/lookup`, `/token:introspect`. */
function isQuestion(path: string, query: string): boolean {
  const parts = path.split("/");
  const last = parts.at(-1) ?? "";
  const verb = last.slice(last.lastIndexOf(":") + 1);
  return READS.has(last) || READS.has(verb) || parts.some((part) => READ_PARTS.has(part)) ||
    isAskingMethod(last) || ASKS.test(query);
}

/** Remarks that people write to an issue or a review. */
const isTalk = (method: string, path: string): boolean =>
  method === "POST" && /\/(?:comments|notes|reactions|award_emoji|replies)$/.test(path);

/** Parameters that make a change a rehearsal, or name a reading action. */
const ASKS =
  /(?:^|&)(?:action=(?:describe|list|get)|(?:dryrun=all|(?:dry_?run|validateonly)=true)(?:&|$))/;

/** Interfaces whose last word is `noun.verb`, such as Slack's: `users.list`. */
function isAskingMethod(last: string): boolean {
  const verb = last.slice(last.lastIndexOf(".") + 1);
  return verb !== last && ASKING_VERB.test(verb);
}

const ASKING_VERB = /^(?:list|info|history|get|test|lookup|search|members)/;
