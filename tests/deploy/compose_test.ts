import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { parse } from "yaml";
import { DEPLOYED, stagesOf, textOf } from "./files.ts";

const STAGES = stagesOf(textOf("deploy/Dockerfile"));

interface Service {
  readonly build?: {
    readonly context: string;
    readonly dockerfile: string;
    readonly target: string;
  };
  readonly image: string;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?:
    | Readonly<Record<string, { readonly condition: string }>>
    | readonly string[];
  readonly stop_grace_period?: string;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
}

Deno.test("deploy/compose.yaml: files, volumes, secrets and services that it names are there", () => {
  const compose = parse(textOf("deploy/compose.yaml"));
  deq(Object.keys(compose), ["name", "services", "secrets", "volumes"]);
  const services: Record<string, Service> = compose.services;
  deq(Object.keys(services), ["relay", "agent", "prometheus", "grafana"]);
  for (const [name, service] of Object.entries(services)) {
    if (service.build !== undefined) {
      const { context, dockerfile, target } = service.build;
      deq([context, dockerfile, STAGES.has(target)], ["..", "deploy/Dockerfile", true], name);
      // Docker would kill it 10 s after the stop signal.
      eq(service.stop_grace_period, "20s", name);
    }
    for (const volume of service.volumes ?? []) {
      const [source] = volume.split(":");
      if (source!.startsWith("./")) ok(DEPLOYED.has(`deploy/${source!.slice(2)}`), volume);
      else ok(source! in compose.volumes, volume);
    }
    for (const secret of service.secrets ?? []) ok(secret in compose.secrets, secret);
    for (const port of service.ports ?? []) {
      ok(port.startsWith("127.0.0.1:"), `${name} is public: ${port}`);
    }
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      if (condition !== "service_healthy") continue;
      const { target } = services[other]!.build!;
      ok(STAGES.get(target)!.some(([instruction]) => instruction === "HEALTHCHECK"), other);
    }
    deq(service.cap_drop, ["ALL"], name);
    deq(service.security_opt, ["no-new-privileges:true"], name);
  }
});

Deno.test("deploy/compose.yaml: Prometheus finds the relay, its key and its rules, and Grafana its dashboard", () => {
  const { services } = parse(textOf("deploy/compose.yaml"));
  const { rule_files, scrape_configs: [relay] } = parse(textOf("deploy/prometheus/prometheus.yml"));
  eq(relay.job_name, "relay");
  deq(relay.static_configs, [{ targets: ["relay:9081"] }]);
  deq(services.prometheus.secrets, [relay.authorization.credentials_file.split("/").at(-1)]);
  const mounted = (of: Service) => of.volumes!.map((volume) => volume.split(":")[1]!);
  for (const name of rule_files) {
    ok(mounted(services.prometheus).includes(`/etc/prometheus/${name}`));
  }
  const { providers: [provider] } = parse(textOf("deploy/grafana/dashboards.yaml"));
  ok(mounted(services.grafana).includes(`${provider.options.path}/relay.json`));
  const { datasources: [source] } = parse(textOf("deploy/grafana/datasource.yaml"));
  ok(services[new URL(source.url).hostname] !== undefined);
});
