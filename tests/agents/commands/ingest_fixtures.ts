import { type Account, type Answer, World } from "../../support/world.ts";
import { rawRows } from "../../support/raw_rows.ts";

/** Makes an ingest token; returns the body. */
export async function makeIngestToken(
  world: World,
  { token: as }: Account,
  purpose: string,
  headers: Record<string, string> = {},
): Promise<{ id: string; token: string; prefix: string }> {
  const body = { name: "outside", purpose };
  const answer = await world.call("POST", "/api/v1/ingest-tokens", { as, body, headers });
  if (answer.status !== 201) throw new Error(`token creation answered ${answer.text}`);
  return answer.body;
}

/** An organization's alerts of a state. */
export const alertsOf = async (world: World, { token: as }: Account, query = "") =>
  (await world.call("GET", `/api/shield/alerts?limit=200${query}`, { as })).body.alerts;

/** Every key in the store but limits, as text. */
export async function storedKeys(world: World): Promise<string[]> {
  await world.settle();
  const keys: string[] = [];
  for (const { key, versionstamp } of await rawRows(world.kv)) {
    if (key[1] !== "rate") keys.push(`${key.join("/")} ${versionstamp}`);
  }
  return keys;
}

/** An answer without what names the request. */
export const shownOf = ({ status, headers, text }: Answer) => ({
  status,
  text,
  headers: [...headers].filter(([name]) => name !== "x-request-id"),
});

/** A notification of Alertmanager: a group of two alerts, one of them resolved. */
export const NOTIFICATION = {
  version: "4",
  groupKey: '{}/{severity="critical"}:{alertname="InstanceDown", cluster="eu-1"}',
  truncatedAlerts: 3,
  status: "firing",
  receiver: "relay",
  groupLabels: { alertname: "InstanceDown", cluster: "eu-1" },
  commonLabels: { alertname: "InstanceDown", cluster: "eu-1", severity: "critical" },
  commonAnnotations: { runbook_url: "https://runbooks.example.com/InstanceDown" },
  externalURL: "http://alertmanager.example.com:9093",
  alerts: [
    {
      status: "firing",
      labels: {
        alertname: "InstanceDown",
        cluster: "eu-1",
        instance: "10.0.0.7:9100",
        job: "node",
        severity: "critical",
      },
      annotations: {
        runbook_url: "https://runbooks.example.com/InstanceDown",
        summary: "Instance 10.0.0.7:9100 is down",
      },
      startsAt: "2029-12-31T23:58:12.483291744Z",
      endsAt: "0001-01-01T00:00:00Z",
      generatorURL: "http://prometheus.example.com:9090/graph?g0.expr=up+%3D%3D+0&g0.tab=1",
      fingerprint: "b1c2d3e4f5a60718",
    },
    {
      status: "resolved",
      labels: {
        alertname: "InstanceDown",
        cluster: "eu-1",
        instance: "10.0.0.8:9100",
        job: "node",
        severity: "critical",
      },
      annotations: { summary: "Instance 10.0.0.8:9100 is down" },
      startsAt: "2029-12-31T23:50:12.483291744+01:00",
      endsAt: "2029-12-31T23:59:27.483291744+01:00",
      generatorURL: "http://prometheus.example.com:9090/graph?g0.expr=up+%3D%3D+0&g0.tab=1",
      fingerprint: "0918273645afbecd",
    },
  ],
};
