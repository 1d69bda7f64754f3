import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { parse, parseAllDocuments } from "yaml";
import { parseConfig } from "../../core/context/config.ts";
import { unreadVariables } from "../../core/context/unread_variables.ts";
import { routes } from "../../routes/index.ts";
import { busyScrape } from "../host/scrape.ts";
import { commandFault } from "../docs/command_names.ts";
import { DEPLOYED, instructionOf, stagesOf, textOf } from "./files.ts";

/** Every match of a pattern's first group in `deploy/`, with its file. */
const found = (pattern: RegExp): [file: string, text: string][] =>
  [...DEPLOYED].flatMap(([file, text]) =>
    [...text.matchAll(pattern)].map((match): [string, string] => [file, match[1]!])
  );

Deno.test("deploy/: every variable is one that the program reads", () => {
  const named = found(/\b(RELAY_[A-Z_]+)\b/g);
  ok(named.length > 10);
  deq(
    named.flatMap(([file, name]) => unreadVariables({ [name]: "x" }).map((why) => [file, why])),
    [],
  );
});

Deno.test("deploy/: every configuration is one that the relay accepts", () => {
  const given = found(/RELAY_CONFIG(?:=|: )'?(\{.*\})/g);
  ok(given.length >= 4);
  for (const [, json] of given) parseConfig(json);
});

/** The arguments of the program, wherever `deploy/` names a command. */
function commandsIn(): string[] {
  const stages = stagesOf(textOf("deploy/Dockerfile"));
  const words = (json: string) => (JSON.parse(json) as string[]).join(" ");
  const inImages = ["agent", "relay"].map((name) => words(instructionOf(stages.get(name)!, "CMD")));
  const health = instructionOf(stages.get("relay")!, "HEALTHCHECK");
  const inPods = [...DEPLOYED].filter(([file]) => file.startsWith("deploy/kubernetes/"))
    .flatMap(([, text]) => parseAllDocuments(text).map((document) => document.toJS()))
    .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
    .flatMap(({ args }) => args === undefined ? [] : [args.join(" ")]);
  return [
    ...found(/\/usr\/local\/bin\/relay ([^'\n]+)/g).map(([, text]) => text),
    ...found(/^#\s+relay ([^#\n]+)/gm).map(([, text]) => text),
    ...found(/`relay ([^`]+)`/g).map(([, text]) => text),
    ...found(/:\s+relay ([a-z][^,"\n]+)/g).map(([, text]) => text),
    ...found(/run --rm agent ([^#\n]+)/g).map(([, text]) => text),
    ...inImages,
    words(health.split(" CMD ")[1]!).split(" ").at(-1)!,
    ...inPods,
  ];
}

Deno.test("deploy/: every command exists, with its options", async () => {
  const commands = commandsIn();
  ok(commands.length > 12);
  const faults: string[] = [];
  for (const command of commands) {
    const fault = await commandFault(command.split(" "));
    if (fault !== null) faults.push(`relay ${command}: ${fault}`);
  }
  deq(faults, []);
});

Deno.test("deploy/: every path of the API exists", () => {
  const paths: readonly string[] = [...routes.map(({ path }) => path), "/docs", "/console"];
  const named = found(/(?:httpGet: \{ path: |metrics path |location = )(\/[a-z]+)\b/g).map((
    [, path],
  ) => path);
  ok(named.includes("/healthz") && named.includes("/metrics"));
  deq(named.filter((path) => !paths.includes(path)), []);
});

Deno.test("deploy/: every page and heading of the documentation exists", () => {
  for (const [file, link] of found(/(docs\/[a-z-]+\.md(?:#[a-z-]+)?)/g)) {
    const [page, anchor] = link.split("#");
    const headings = [...textOf(page!).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!.toLowerCase().replaceAll(/[^\w -]/g, "").replaceAll(" ", "-")
    );
    ok(anchor === undefined || headings.includes(anchor), `${file}: ${link}`);
  }
});

/** The selectors of PromQL in the dashboard and the rules: metric, and what stands in its braces. */
function selectorsIn(): [file: string, metric: string, labels: string][] {
  const dashboard = JSON.parse(textOf("deploy/grafana/relay.json"));
  const panels: { targets?: { expr: string }[] }[] = dashboard.panels;
  const rules = parse(textOf("deploy/prometheus/alerts.yml"));
  const series = parse(textOf("deploy/prometheus/alerts_test.yml"));
  const expressions: [string, string][] = [
    ...panels.flatMap(({ targets = [] }) =>
      targets.map(({ expr }) => ["dashboard", expr] as [string, string])
    ),
    ...rules.groups[0].rules.map(({ expr }: { expr: string }) => ["alerts", expr]),
    ...series.tests.flatMap(({ input_series }: { input_series: { series: string }[] }) =>
      input_series.map(({ series }) => ["tests", series])
    ),
  ];
  return expressions.flatMap(([file, text]) =>
    [...text.matchAll(/\b((?:relay|process)_\w+)(?:\{([^}]*)\})?/g)].map((
      [, metric, labels = ""],
    ): [string, string, string] => [file, metric!, labels])
  );
}

Deno.test("deploy/: dashboard and alerts use metrics, labels and values that a relay exports", async () => {
  const { families } = await busyScrape();
  const selectors = selectorsIn();
  ok(selectors.length > 80);
  for (const [file, metric, text] of selectors) {
    const family = families.find(({ name, type }) =>
      name === metric ||
      type === "histogram" && ["_bucket", "_sum", "_count"].some((end) => name + end === metric)
    );
    ok(family !== undefined, `${file}: ${metric}`);
    for (const [, label, operator, value] of text.matchAll(/(\w+)(=~|!=|!~|=)"([^"]*)"/g)) {
      // Prometheus adds these to every metric.
      if (label === "instance" || label === "job" || label === "le") continue;
      const values = family.lines.map(({ labels }) => labels[label!]);
      ok(
        values.some((known) => known !== undefined) || values.length === 0,
        `${file}: ${label} of ${metric}`,
      );
      const exact = (operator === "=" || operator === "!=") && label !== "status";
      ok(!exact || values.includes(value), `${file}: ${metric}{${label}="${value}"}`);
    }
  }
});

Deno.test("deploy/: dashboard and alerts group by labels that a relay exports", async () => {
  const { families } = await busyScrape();
  const known = new Set([
    "instance",
    ...families.flatMap(({ lines }) => lines.flatMap(({ labels }) => Object.keys(labels))),
  ]);
  const texts = ["deploy/grafana/relay.json", "deploy/prometheus/alerts.yml"].map(textOf).join(
    "\n",
  );
  const labels = [
    ...texts.matchAll(/\bby \(([\w, ]+)\)/g),
    ...texts.matchAll(/\{\{ ?\$labels\.(\w+) ?\}\}/g),
  ].flatMap(([, names]) => names!.split(/, ?/));
  ok(labels.length > 20);
  deq(labels.filter((label) => !known.has(label)), []);
});

Deno.test("deploy/: the image has the Deno version that is pinned", () => {
  const [, version] = /^ARG DENO_VERSION=(.*)$/m.exec(textOf("deploy/Dockerfile"))!;
  eq(version, textOf(".deno-version").trim());
});
