import { operands } from "../programs/arguments.ts";
import { asks, CHANGES, setOf } from "./production/cloud_words.ts";
import { type Rule, rule, type SimpleCommand } from "./rule.ts";

/** What `kubectl` and `oc` do themselves; every other first word is a plugin. */
const OWN = setOf(
  "adm alpha annotate api-resources api-versions apply attach auth autoscale cancel-build certificate cluster-info " +
    "completion config convert cordon cp create debug delete describe diff drain edit events exec explain expose " +
    "extract get get-token help idle image import-image kustomize label login logout logs new-app new-build " +
    "new-project observe options patch plugin policy port-forward process project projects proxy registry replace " +
    "rollback rollout rsh rsync run scale secrets serviceaccounts set set-last-applied start-build status tag taint " +
    "top uncordon version wait who-can whoami",
);

/** Plugins that have rules of their own, or that change only files of this machine. */
const OTHERS = setOf("argo convert ctx ksd krew kuttl modify-secret ns oidc-login view-secret");

/** Plugins that give a shell on a node or in a pod, or the rights of somebody else. */
const SHELLS = setOf(
  "enter exec-as iexec node-shell node-ssh nsenter pexec ssh ssh-jump sudo superdebug",
);

/** Plugins that only show what is there, whatever is named behind. */
const READERS = setOf(
  "advise-policy aggregate blame capture count custom-cols df-pv doctor explore fields flame get-all grep graph " +
    "history ice images kubesec-scan kurt ktop lineage mtail neat outdated pod-inspect pod-lens popeye rbac-lookup " +
    "rbac-tool rbac-view resource-capacity resource-snapshot score service-tree sick-pods slice split-yaml status " +
    "stern sort-manifests tail topology tree unused-volumes view-allocations view-cert view-utilization view-webhook " +
    "viewnode who-can why",
);

/** What plugins stop, start or take away, beside the verbs of clouds. */
const ACTS = setOf(
  "clean cleanup clear delete destroy drop evict erase fence hibernate kill off on prune purge reap remove rm stop uninstall unjoin up wipe",
);

const VALUED = setOf("-n --namespace --context --kubeconfig --cluster --user --as -s --server");
const WORDS_MAX = 5;
const PREFIX = "kubectl-";

/** The words of a plugin's call, its name first; none for a call that `kubectl` handles itself. */
function pluginCall(command: SimpleCommand): readonly string[] {
  const words = operands(command, VALUED).slice(0, WORDS_MAX).map((word) => word.toLowerCase());
  if (command.name.startsWith(PREFIX)) return [command.name.slice(PREFIX.length), ...words];
  const [name = ""] = words;
  return name === "" || OWN.has(name) || OTHERS.has(name) ? [] : words;
}

/** `deploy` with a name behind is a kind of object. */
function changes(word: string, at: number, words: readonly string[]): boolean {
  const verb = word.split("-", 1)[0]!;
  if (verb === "deploy" && at < words.length - 1) return false;
  return CHANGES.has(verb) || ACTS.has(verb);
}

/** `kubectl cnpg restart main` and `kubectl delete-evicted` change something, `kubectl cnpg status main` asks. */
function pluginChanges(command: SimpleCommand): boolean {
  const [name = "", ...words] = pluginCall(command);
  if (name === "" || READERS.has(name)) return false;
  if (SHELLS.has(name)) return true;
  const call = [name, ...words].slice(0, 4);
  const verb = call.findIndex((word, at) => asks(word) || changes(word, at, call));
  return verb >= 0 && !asks(call[verb]);
}

/** Commands that others have added to the cluster's command line. */
export const KUBERNETES_PLUGIN_RULES: readonly Rule[] = [
  rule({
    id: "production.cluster_plugin",
    title: "Change a cluster through a plugin",
    commands: ["kubectl", "oc", "kubecolor", "k", PREFIX],
    match: (command) => !command.args.some((arg) => TRIES.test(arg)) && pluginChanges(command),
    weight: [3, 3],
    threat: "production_change",
    explanation: "A plugin changes what runs in the cluster, or opens a shell on its machines.",
    safer: "Ask the plugin for the state first: status, list, get.",
    hits: [
      "kubectl cnpg promote pg-main pg-main-2 -n db",
      "kubectl node-shell worker-3",
      "kubectl rook-ceph rook purge-osd 3 --force",
      "kubectl -n shop minio tenant delete t1",
      "kubectl-karmada unjoin member1",
    ],
    misses: [
      "kubectl cnpg status pg-main -n db",
      "kubectl tree deploy web",
      "kubectl ns delete",
      "kubectl rook-ceph ceph status",
      "kubectl neat get deploy web -o yaml",
      "kubectl-karmada get pods",
    ],
  }),
];

const TRIES = /^--(?:dry-run|help)(?:=(?!none|false))?/;
