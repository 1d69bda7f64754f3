import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { parse } from "yaml";
import { ENVIRONMENT } from "../../core/context/environment.ts";
import { DEPLOYED, textOf } from "./files.ts";

const NAMES = "tests/deploy/names_test.ts";
const COMPOSE = "tests/deploy/compose_test.ts";
const CONTAINER = "tests/deploy/container_test.ts";
const KUBERNETES = "tests/deploy/kubernetes_test.ts";
const MONITORING = "tests/deploy/monitoring_test.ts";
const PROXY = "tests/deploy/proxy_test.ts";
const SYSTEMD = "tests/deploy/systemd_test.ts";
const INSTALLER = "tests/build/release_test.ts";

/**
 * The tests of each file, which name it. names_test.ts also reads every file for variables, configurations, commands,
 * paths of the API and pages.
 */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  "Dockerfile": [COMPOSE, CONTAINER, KUBERNETES, NAMES],
  "Dockerfile.dockerignore": [CONTAINER],
  "README.md": ["tests/deploy/covered_test.ts", "tests/pages_test.ts"],
  "compose.yaml": [COMPOSE, KUBERNETES],
  "grafana/dashboards.yaml": [COMPOSE],
  "grafana/datasource.yaml": [COMPOSE, MONITORING],
  "grafana/relay.json": [MONITORING, NAMES],
  "install.sh": [INSTALLER],
  "kubernetes/agent.yaml": [KUBERNETES],
  "kubernetes/relay.yaml": [KUBERNETES],
  "prometheus/alerts.yml": [MONITORING, NAMES],
  "prometheus/alerts_test.yml": [MONITORING, NAMES],
  "prometheus/prometheus.yml": [MONITORING, COMPOSE],
  "proxy/Caddyfile": [PROXY],
  "proxy/nginx.conf": [PROXY],
  "systemd/relay-agent.service": [SYSTEMD],
  "systemd/relay-backup.service": [SYSTEMD],
  "systemd/relay-backup.timer": [SYSTEMD],
  "systemd/relay.env": [SYSTEMD],
  "systemd/relay.service": [SYSTEMD],
};

Deno.test("deploy/: every file has tests of its own", () => {
  deq([...DEPLOYED.keys()].sort(), Object.keys(TESTS).map((name) => `deploy/${name}`).sort());
});

Deno.test("deploy/: the tests of a file name it", () => {
  for (const [file, tests] of Object.entries(TESTS)) {
    const name = file.split("/").at(-1)!;
    // The manifests are named without their end.
    const stem = JSON.stringify(name.replace(/\.yaml$/, ""));
    for (const test of tests) {
      const text = textOf(test);
      ok(text.includes(name) || text.includes(stem), `${test} does not name ${file}`);
    }
  }
});

Deno.test("deploy/: README.md says what every file is for", () => {
  const named = [...textOf("deploy/README.md").matchAll(/`([\w./*-]+)`/g)].map(([, name]) => name!);
  const isNamed = (file: string) =>
    named.some((name) =>
      file === name || file.endsWith(`/${name}`) ||
      name.endsWith(".*") && file.startsWith(name.slice(0, -1))
    );
  // A Dockerfile's list of what it sees, and Grafana's two files that the page describes together.
  const others = [
    "Dockerfile.dockerignore",
    "README.md",
    "grafana/dashboards.yaml",
    "grafana/datasource.yaml",
  ];
  deq(Object.keys(TESTS).filter((file) => !isNamed(file) && !others.includes(file)), []);
});

/** The ports of other programs that the files name. */
const OTHER_PORTS = { Prometheus: "9090", Alertmanager: "9093", Grafana: "3000" };

Deno.test("deploy/: every port is the relay's default, or that of a program beside it", () => {
  const known: readonly string[] = [ENVIRONMENT.RELAY_PORT.default!, ...Object.values(OTHER_PORTS)];
  const texts = [...DEPLOYED].filter(([file]) => !file.endsWith("relay.json"));
  const named = texts.flatMap(([file, text]) => {
    const ports = text.matchAll(/(?::|EXPOSE |[pP]ort: )(\d{4})\b/g);
    return [...ports].map(([, port]) => [file, port!] as const);
  });
  ok(named.length > 10);
  deq(named.filter(([, port]) => !known.includes(port)), []);
});

Deno.test("deploy/: the units start the program where the installer puts it", () => {
  const [, folder] = /folder=\$\{1:-(.*)\}/.exec(textOf("deploy/install.sh"))!;
  const units = [...DEPLOYED].filter(([file]) => file.endsWith(".service"));
  for (const [file, text] of units) {
    const [, program] = /^ExecStart=(\S+)/m.exec(text)!;
    eq(program, `${folder}/relay`, file);
  }
});

Deno.test("deploy/: what the alerts advise to read has names of the API", () => {
  const known = textOf("docs/openapi.json") + textOf("docs/audit-events.md");
  const { groups: [{ rules }] } = parse(textOf("deploy/prometheus/alerts.yml"));
  const named: string[] = rules.flatMap(
    ({ annotations }: { annotations: { description: string } }) =>
      annotations.description.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [],
  );
  ok(named.length >= 3);
  deq(named.filter((name) => !RegExp(`\\b${name}\\b`).test(known)), []);
});
