import type { SimpleCommand } from "../../model.ts";
import { operands, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import type { WrapperFields } from "../wrapper.ts";

const SHARED = "profile user workdir env env-file detach-keys context host config log-level";

const forVerbs = (verbs: readonly string[], fields: WrapperFields): WrapperFields[] =>
  verbs.map((one) => ({ ...fields, verbs: one }));

/** `docker save` and `docker export` write out all files of a container. */
const dumpsContainer = ({ args }: SimpleCommand): boolean =>
  args.includes("save") || args.includes("export");

/** `docker run --entrypoint sh image -c text`: the program stands before the image, its arguments behind it. */
const entrypoints = (command: SimpleCommand) => optionValues(command, "--entrypoint");

/** The folders of this machine that a container is given, or that are copied into it. */
function given(command: SimpleCommand): readonly string[] {
  const mounts = optionValues(command, "-v", "--volume").map((value) => value.split(":", 1)[0]!);
  const bound = optionValues(command, "--mount").flatMap((value) => MOUNTED.exec(value)?.[1] ?? []);
  // Exporters of metrics mount all of /proc every day.
  return [...mounts, ...bound, ...copiedIn(command)].filter((path) => path !== "/proc");
}

const MOUNTED = /(?:^|,)(?:src|source)=([^,]*)/;

/** `docker cp folder web:/x`. */
function copiedIn(command: SimpleCommand): readonly string[] {
  const words = operands(command);
  return words.includes("cp") ? words.slice(0, -1).filter((path) => !path.includes(":")) : [];
}

const CLUSTER =
  "namespace context kubeconfig cluster container user as server token image target pod-running-timeout filename";

/** Container engines and clusters. */
export const CONTAINERS: readonly Family[] = [
  {
    names: ["docker", "podman", "nerdctl"],
    wrappers: [
      ...forVerbs(["exec", "container exec", "compose exec"], {
        short: "uweHlcf",
        long: `${SHARED} file project-name index`,
        skip: 1,
        ends: true,
      }),
      ...forVerbs(["run", "container run", "compose run", "create"], {
        short: "uwevphmclfHa",
        long:
          `${SHARED} volume publish name network net mount memory cpus hostname label add-host cap-add cap-drop ` +
          "device dns entrypoint expose gpus ip ipc link log-driver log-opt pid platform pull restart runtime " +
          "security-opt shm-size stop-signal sysctl tmpfs ulimit userns uts volumes-from cgroup-parent cidfile file project-name",
        skip: 1,
        ends: true,
      }),
    ],
    dumps: dumpsContainer,
    readsBelow: given,
    entrypoints,
    ownEnvironment: true,
  },
  {
    names: ["podman"],
    wrappers: [{ verbs: "machine ssh", mode: "shell" }],
  },
  {
    names: ["docker-compose", "podman-compose"],
    wrappers: [
      { verbs: "exec", short: "uwefp", long: SHARED, skip: 1 },
      {
        verbs: "run",
        short: "uwevpf",
        long: `${SHARED} name volume publish entrypoint`,
        skip: 1,
      },
    ],
    entrypoints,
  },
  {
    names: ["kubectl", "oc", "k3s", "microk8s", "kubecolor"],
    wrappers: forVerbs(["exec", "rsh", "debug"], { short: "ncsf", long: CLUSTER, skip: 1 }),
  },
  {
    names: ["kubectl", "oc"],
    ownEnvironment: true,
    readsBelow: copiedIn,
    wrappers: [{
      verbs: "run",
      short: "nls",
      long: `${CLUSTER} labels overrides port restart env`,
      skip: 1,
    }],
  },
  {
    names: ["kubectl"],
    wrappers: [{ verbs: "kubectl exec", short: "ncsf", long: CLUSTER, skip: 1 }],
  },
  { names: ["lxc", "incus"], ownEnvironment: true },
];
