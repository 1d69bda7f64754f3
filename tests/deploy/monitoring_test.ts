import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { parse } from "yaml";
import { isInstalled, runProgram, withFolder } from "../support/processes.ts";
import { pathOf, textOf } from "./files.ts";

const PROMTOOL = isInstalled("promtool");
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
interface Expected {
  readonly alertname: string;
  readonly exp_alerts: readonly { readonly exp_annotations: Rule["annotations"] }[];
}
const rules: readonly Rule[] = parse(textOf("deploy/prometheus/alerts.yml")).groups[0].rules;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: {
    readonly h: number;
    readonly w: number;
    readonly x: number;
    readonly y: number;
  };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}
const dashboard = JSON.parse(textOf("deploy/grafana/relay.json"));
const panels: readonly Panel[] = dashboard.panels;

Deno.test("alerts: each has a severity and says what to do, and docs/metrics.md lists exactly them", () => {
  for (const { alert, labels, annotations } of rules) {
    ok(["warning", "critical"].includes(labels.severity), alert);
    deq(Object.keys(annotations), ["summary", "description"], alert);
  }
  const listed = [...textOf("docs/metrics.md").matchAll(/^\| `(Relay\w+)`/gm)].map(([, name]) =>
    name
  );
  deq(listed, rules.map(({ alert }) => alert));
});

Deno.test("alerts: each has a test that it fires", () => {
  const { tests } = parse(textOf("deploy/prometheus/alerts_test.yml"));
  const fired = tests.flatMap(({ alert_rule_test = [] }) =>
    alert_rule_test.filter(({ exp_alerts }: { exp_alerts: unknown[] }) => exp_alerts.length > 0)
      .map(({ alertname }: { alertname: string }) => alertname)
  );
  deq(fired.sort(), rules.map(({ alert }) => alert).sort());
});

Deno.test("alerts: their tests expect the descriptions that the rules have", () => {
  const { tests } = parse(textOf("deploy/prometheus/alerts_test.yml"));
  const expected = tests.flatMap(({ alert_rule_test = [] }) =>
    alert_rule_test.flatMap(({ alertname, exp_alerts }: Expected) =>
      exp_alerts.map(({ exp_annotations }) => [alertname, exp_annotations.description])
    )
  );
  const described = new Map(
    rules.map(({ alert, annotations }) => [alert, annotations.description]),
  );
  deq(expected, expected.map(([alert]: [string]) => [alert, described.get(alert)]));
});

Deno.test({
  name: "alerts: promtool accepts the rules, their tests and the configuration (needs promtool)",
  ignore: !PROMTOOL,
  async fn() {
    const folder = pathOf("deploy/prometheus/");
    for (
      const args of [
        ["check", "rules", "--lint-fatal", `${folder}alerts.yml`],
        ["test", "rules", `${folder}alerts_test.yml`],
        ["check", "config", "--syntax-only", `${folder}prometheus.yml`],
      ]
    ) {
      const { success, text } = await runProgram("promtool", args);
      ok(success, text);
    }
  },
});

Deno.test("dashboard: panels have ids and places of their own, a title, and queries", () => {
  eq(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Set<string>();
  for (const { title, type, description, gridPos: { h, w, x, y }, targets = [] } of panels) {
    ok(x + w <= 24, title);
    for (let at = 0; at < h * w; at++) {
      const cell = `${x + at % w} ${y + Math.floor(at / w)}`;
      ok(!taken.has(cell), `${title} covers another panel`);
      taken.add(cell);
    }
    if (type === "row") continue;
    ok(description !== undefined && targets.length > 0, title);
    eq(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
  }
});

Deno.test({
  name: "dashboard: promtool can parse every query (needs promtool)",
  ignore: !PROMTOOL,
  async fn() {
    // Grafana replaces its variables before it asks.
    const expressions = panels.flatMap(({ targets = [] }) => targets).map(({ expr }) =>
      expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*")
    );
    const rules = expressions.map((expr, at) => ({ record: `panel:${at}`, expr }));
    await withFolder(async (folder) => {
      const file = `${folder}/rules.yml`;
      await Deno.writeTextFile(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
      const { success, text } = await runProgram("promtool", ["check", "rules", file]);
      ok(success, text);
    });
  },
});

Deno.test("dashboard: the variables and the data source that it uses are there", () => {
  const names = dashboard.templating.list.map(({ name }: { name: string }) => name);
  const used = [...textOf("deploy/grafana/relay.json").matchAll(/\$\{?([a-z]+)\b/g)].map((
    [, name],
  ) => name!);
  deq([...new Set(used)].sort(), [...names].sort());
  eq(parse(textOf("deploy/grafana/datasource.yaml")).datasources[0].type, "prometheus");
});
