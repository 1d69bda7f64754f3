import { hasFlag, operands } from "../../programs/arguments.ts";
import type { Rule, SimpleCommand } from "../../model.ts";
import { changeRule } from "./change.ts";

const KUBECTL = "kubectl oc kubecolor k";
const DRY = "--dry-run";
const VALUED = "-n -c --container";
const CONTAINER = new Set(VALUED.split(" "));
const SAFER = "Show the change first with kubectl diff, or with --dry-run=server.";

/** `oc set volume dc/web` and `oc set triggers dc/web` without an option list what is set. */
function listsOnly({ args, name }: SimpleCommand): boolean {
  return name === "oc" && args[0] === "set" && LISTED_ALONE.has(args[1] ?? "") &&
    !args.slice(2).some((arg) => arg.startsWith("-"));
}
const LISTED_ALONE = new Set(["trigger", "triggers", "volume", "volumes"]);

/** Changes of what runs in clusters, by their command lines. */
export const CLUSTER_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.cluster_apply",
    title: "Change objects of a cluster",
    changes: [
      {
        names: KUBECTL,
        valued: VALUED,
        passes: DRY,
        verbs: [
          "apply|create|patch|replace|expose",
          "!apply view-last-applied|edit-last-applied",
          "auth reconcile",
        ],
      },
      {
        names: KUBECTL,
        valued: VALUED,
        passes: `${DRY} --list --local`,
        verbs: ["label|annotate|set"],
        when: (command) => !listsOnly(command),
      },
      { names: KUBECTL, valued: VALUED, verbs: ["edit", "apply edit-last-applied"] },
      // A pod that is looked into and removed at once changes nothing.
      {
        names: KUBECTL,
        valued: VALUED,
        passes: DRY,
        verbs: ["run"],
        when: (command) => !(hasFlag(command, "", "rm") && hasFlag(command, "it", "stdin", "tty")),
      },
      {
        names: "oc",
        passes: DRY,
        verbs: [
          "new-app|new-project|new-build|start-build|cancel-build|import-image|tag|idle|rollback",
          "secrets|policy|image",
          "adm prune auth",
          "!policy who-can|can-i|scc-review|scc-subject-review",
          "!image info|extract",
          "adm taint|cordon|uncordon|drain|policy|groups|ca|certificate",
          "adm add-scc-to-user|pod-network|reboot-machine-config-pool|restart-kubelet|release",
          "!adm policy who-can|scc-review|scc-subject-review",
          "!adm release info|extract",
          "!adm groups sync|prune",
        ],
      },
      // Without their option these only show what they would do.
      {
        names: "oc",
        needs: "--confirm",
        verbs: [
          "adm prune builds|deployments|images|groups|renderedmachineconfigs",
          "adm groups sync|prune",
          "adm migrate",
        ],
      },
      {
        names: "oc",
        needs:
          "--to --to-latest --to-image --to-multi-arch --clear --force --allow-explicit-upgrade",
        verbs: ["adm upgrade"],
      },
    ],
    explanation: "It changes what runs in a cluster.",
    safer: SAFER,
    hits: [
      "kubectl apply -f k8s/",
      "oc patch deployment api -p '{}'",
      "kubectl edit deploy/api",
      "kubectl --context prod -n shop set image deploy/web web=app:1.3",
      "kubectl create -f job.yaml --dry-run=none",
      "kubectl label node n1 tier=web --overwrite",
      "kubectl run load --image=fortio/fortio -- load http://web",
      "oc new-app --template=shop",
      "k expose deploy web --port 80",
      "kubectl apply view-last-applied --namespace x && kubectl apply -k overlays/prod",
    ],
    misses: [
      "kubectl diff -f k8s/",
      "kubectl get deploy",
      "kubectl apply -f k8s/ --dry-run=server",
      "kubectl apply view-last-applied deploy/web",
      "kubectl set env deploy/web --list",
      "kubectl label pods --list --all",
      "kubectl run tmp --rm -it --image=busybox --restart=Never -- nslookup kubernetes",
      "kubectl config set-context --current --namespace=shop",
      "kubectl create deployment x --image=y --dry-run=client -o yaml",
      "kubectl explain deployment.spec",
      "oc whoami",
      "oc adm policy who-can delete pods",
    ],
  }),
  changeRule({
    id: "production.cluster_rollout",
    title: "Scale or restart workloads of a cluster",
    changes: [
      { names: KUBECTL, valued: VALUED, passes: DRY, verbs: ["scale|autoscale", "rollout undo"] },
      {
        names: KUBECTL,
        valued: VALUED,
        verbs: ["rollout restart|pause|resume|cancel|latest|retry"],
      },
      {
        names: KUBECTL,
        valued: VALUED,
        verbs: ["argo rollouts abort|promote|pause|restart|retry|set|undo|terminate|create"],
      },
      {
        names: "kubectl-argo-rollouts",
        verbs: ["abort|promote|pause|restart|retry|set|undo|terminate|create"],
      },
    ],
    explanation: "It scales, restarts or takes back workloads that are running.",
    safer: "Show the state first: kubectl rollout status, kubectl rollout history.",
    hits: [
      "kubectl rollout restart deploy/api",
      "kubectl scale deploy/web --replicas=5",
      "kubectl -n shop rollout undo deployment/web",
      "oc rollout latest dc/web",
      "kubectl autoscale deploy/web --min 2 --max 9",
      "kubectl rollout restart deploy/web --dry-run=server",
    ],
    misses: [
      "kubectl rollout status deploy/web",
      "kubectl rollout history deploy/web",
      "kubectl rollout undo deployment/web --dry-run=server",
      "kubectl argo rollouts get rollout web",
    ],
  }),
  changeRule({
    id: "production.cluster_nodes",
    title: "Change nodes or requests for certificates",
    changes: [
      { names: KUBECTL, valued: VALUED, passes: DRY, verbs: ["cordon|uncordon|taint"] },
      { names: KUBECTL, valued: VALUED, verbs: ["certificate approve|deny"] },
    ],
    explanation: "It changes where workloads may run, or which certificates the cluster signs.",
    safer: "Describe the node or the request first.",
    hits: [
      "kubectl cordon node-7",
      "kubectl uncordon node-7",
      "kubectl taint nodes n1 dedicated=db:NoSchedule",
      "kubectl certificate approve csr-4",
    ],
    misses: [
      "kubectl get nodes",
      "kubectl describe csr csr-4",
      "kubectl cordon n1 --dry-run=client",
    ],
  }),
  changeRule({
    id: "production.cluster_pods",
    title: "Change a running pod",
    changes: [
      {
        names: KUBECTL,
        valued: VALUED,
        verbs: ["cp|rsync"],
        when: (command) => (operands(command, CONTAINER).at(-1) ?? "").includes(":"),
      },
      { names: KUBECTL, valued: VALUED, verbs: ["debug"] },
    ],
    explanation: "It changes the files of a running pod, or adds a container to it.",
    safer: "Change the image or the workload instead.",
    hits: [
      "kubectl cp app.conf shop/web-0:/etc/app.conf -c app",
      "kubectl debug -it web-0 --image=busybox",
      "oc rsync ./site web-0:/srv",
    ],
    misses: [
      "kubectl cp shop/web-0:/var/log/app.log ./app.log",
      "kubectl -n patch logs web-0",
      "oc rsync web-0:/srv ./site",
    ],
  }),
  changeRule({
    id: "production.cluster_release",
    title: "Install or upgrade a release in a cluster",
    changes: [
      {
        names: "helm",
        passes: DRY,
        verbs: [
          "install|upgrade|rollback|mapkubeapis|cm-push",
          "secrets install|upgrade|rollback",
          "s3|gcs push|delete|init|reindex",
        ],
      },
      { names: "helmfile", verbs: ["apply|sync|charts"] },
      { names: "skaffold", verbs: ["run|deploy|apply|delete"] },
      {
        names: "werf",
        passes: DRY,
        verbs: ["converge|dismiss|bundle", "!bundle render|copy|export"],
      },
      { names: "kapp", passes: "--diff-run", verbs: ["deploy|delete|app-group", "app-change gc"] },
      { names: "kpt", passes: DRY, verbs: ["live apply|destroy|init|migrate"] },
      { names: "devspace okteto garden tanka tk", verbs: ["deploy|apply|destroy|purge|prune"] },
    ],
    explanation: "It installs, upgrades or takes back what runs in a cluster.",
    safer: "Show the change first: helm diff, helm upgrade --dry-run, helm template.",
    hits: [
      "helm upgrade --install web ./chart -n shop",
      "helm rollback web 3",
      "helm install redis bitnami/redis --set auth.enabled=false --dry-run=none",
      "helmfile -e prod sync",
      "skaffold run -p prod",
      "kapp deploy -a web -f k8s/",
      "helm upgrade web ./chart --description --dry-run",
    ],
    misses: [
      "helm upgrade --install web ./chart --dry-run",
      "helm upgrade web ./chart --dry-run=server --debug",
      "helm template ./chart",
      "helm diff upgrade web ./chart",
      "helm lint ./chart",
      "helm repo add bitnami https://charts.example.com",
      "helmfile diff",
      "skaffold render",
      "helm upgrade -h",
    ],
  }),
];
