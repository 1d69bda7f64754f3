import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { parse, parseAllDocuments } from "yaml";
import { instructionOf, stagesOf, textOf } from "./files.ts";

/** The kinds of objects and the version of their API. */
const KINDS: Readonly<Record<string, string>> = {
  ServiceAccount: "v1",
  ConfigMap: "v1",
  Service: "v1",
  StatefulSet: "apps/v1",
  Ingress: "networking.k8s.io/v1",
};
const FILES = ["relay", "agent"] as const;
const textFor = (name: string) => textOf(`deploy/kubernetes/${name}.yaml`);
// deno-lint-ignore no-explicit-any -- manifests of every kind
const objects: any[] = FILES.flatMap((name) =>
  parseAllDocuments(textFor(name)).map((document) => document.toJS())
);
const named = (kind: string, name: string) =>
  objects.find((each) => each.kind === kind && each.metadata.name === name);
const sets = objects.filter(({ kind }) => kind === "StatefulSet");

Deno.test("deploy/kubernetes: objects are of known kinds, in one namespace, with names of their own", () => {
  for (const { apiVersion, kind, metadata } of objects) {
    eq(apiVersion, KINDS[kind], kind);
    eq(metadata.namespace, "relay");
  }
  const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  eq(new Set(names).size, names.length);
});

Deno.test("deploy/kubernetes: accounts, configuration, secrets and volumes that pods name are there", () => {
  // The files say how to create the secrets.
  const secrets = FILES.flatMap((name) =>
    [...textFor(name).matchAll(/create secret generic ([\w-]+)/g)].map(([, secret]) => secret)
  );
  eq(sets.length, 2);
  for (const { spec: { selector, template, volumeClaimTemplates } } of sets) {
    const { serviceAccountName, volumes, containers: [container] } = template.spec;
    deq(selector.matchLabels, template.metadata.labels);
    ok(named("ServiceAccount", serviceAccountName));
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      ok(configMapRef ? named("ConfigMap", configMapRef.name) : secrets.includes(secretRef.name));
    }
    for (const { secret } of volumes) {
      ok(secret === undefined || secrets.includes(secret.secretName));
    }
    const mountable = [
      ...volumes,
      ...volumeClaimTemplates.map((each: { metadata: object }) => each.metadata),
    ]
      .map(({ name }) => name);
    deq(container.volumeMounts.map(({ name }: { name: string }) => name).sort(), mountable.sort());
  }
});

Deno.test("deploy/kubernetes: requests reach the relay's port, and pods have the time to stop", () => {
  const [{ spec: { template } }] = sets;
  const { ports: [port] } = template.spec.containers[0];
  const stages = stagesOf(textOf("deploy/Dockerfile"));
  eq(`${port.containerPort}`, instructionOf(stages.get("relay")!, "EXPOSE"));
  const { spec: service } = named("Service", "relay");
  deq(service.selector, template.metadata.labels);
  eq(service.ports[0].targetPort, port.name);
  const backend = named("Ingress", "relay").spec.rules[0].http.paths[0].backend.service;
  deq(backend, { name: "relay", port: { name: service.ports[0].name } });
  for (const { spec } of sets) {
    eq(spec.template.spec.terminationGracePeriodSeconds, 20);
    eq(spec.template.spec.enableServiceLinks, false, "a Service named relay would set RELAY_PORT");
  }
  const [, address] = /--url=(\S+)/.exec(textFor("agent"))!;
  const { hostname, port: to } = new URL(address!);
  deq([hostname, Number(to)], ["relay", service.ports[0].port]);
});

Deno.test("deploy/kubernetes: pods run as the images' user without rights, and only one has the store", () => {
  const stages = stagesOf(textOf("deploy/Dockerfile"));
  const { services } = parse(textOf("deploy/compose.yaml"));
  for (const { metadata: { name }, spec } of sets) {
    const { securityContext, containers: [container] } = spec.template.spec;
    eq(
      `${securityContext.runAsUser}:${securityContext.runAsGroup}`,
      instructionOf(stages.get("relay")!, "USER"),
    );
    eq(securityContext.runAsNonRoot, true, name);
    eq(securityContext.seccompProfile.type, "RuntimeDefault");
    deq(container.securityContext.capabilities, { drop: ["ALL"] });
    eq(container.securityContext.allowPrivilegeEscalation, false);
    eq(container.image, `${services[container.name].image}:latest`);
    eq(spec.replicas, 1);
  }
  eq(sets[0].spec.template.spec.containers[0].securityContext.readOnlyRootFilesystem, true);
});
