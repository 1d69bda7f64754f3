import type { Rule } from "../../model.ts";
import { rule } from "../rule.ts";

/** Changes of what runs in clusters, by their command lines. */
export const CLUSTER_CHANGES: readonly Rule[] = [
  rule({
    id: "production.cluster_apply",
    title: "Change objects of a cluster",
    phrases: ["kubectl|oc|k3s|microk8s|kubecolor|k apply|create|patch|set|edit"],
    weight: [3, 3],
    threat: "production_change",
    explanation: "It changes what runs in a cluster.",
    safer: "Show the change first with kubectl diff, or with --dry-run=server.",
    hits: ["kubectl apply -f k8s/", "oc patch deployment api -p '{}'", "kubectl edit deploy/api"],
    misses: [
      "kubectl diff -f k8s/",
      "kubectl get deploy",
      "kubectl apply -f k8s/ --dry-run=server",
    ],
  }),
];
