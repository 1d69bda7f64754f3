import type { Inner } from "../../interpreter/inner.ts";
import { type Flow, NOTHING, type SimpleCommand } from "../../model.ts";
import { operands, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { printsSettings } from "../flows.ts";
import { always } from "../texts.ts";
import { forVerbs } from "../wrapper.ts";

const SHARED = "profile user workdir env env-file detach-keys context host config log-level";

/** `docker save` and `docker export` write out all files of a container. */
const dumpsContainer = ({ args }: SimpleCommand): boolean =>
  args.includes("save") || args.includes("export");

/** `docker run --entrypoint sh image -c text`: the program stands before the image, its arguments behind it. */
function entrypoints(command: SimpleCommand): readonly string[] {
  const named = optionValues(command, "--entrypoint");
  return named.length > 0 || !command.args.includes("run") ? named : programOfImage(command);
}

/** Images, and services of Compose, that start the tool of their name: `hashicorp/terraform:1.7 apply`. */
function programOfImage({ args }: SimpleCommand): readonly string[] {
  for (const [at, arg] of args.entries()) {
    if (NOT_IMAGE.test(arg) || args[at - 1]?.startsWith("--") && !SWITCHES.has(args[at - 1]!)) {
      continue;
    }
    const program = TOOL_IMAGES.get(nameOfImage(arg));
    if (program !== undefined) return [program];
  }
  return [];
}

const NOT_IMAGE = /^[-/.~]|:\//;
const SWITCHES = new Set(["--detach", "--init", "--interactive", "--privileged", "--rm", "--tty"]);

function nameOfImage(image: string): string {
  const last = image.slice(image.lastIndexOf("/") + 1);
  const tag = last.search(/[:@]/);
  return tag < 0 ? last : last.slice(0, tag);
}

const TOOL_IMAGES: ReadonlyMap<string, string> = new Map([
  ...("alembic atlas consul crane dbmate doctl eksctl flux flyctl flyway goose hcloud helm kaniko kubectl kustomize " +
    "liquibase mc migrate nomad oras pulumi rclone restic s5cmd skeema skopeo sops sqitch terraform tofu vault " +
    "wrangler").split(" ").map((name) => [name, name] as const),
  ["aws-cli", "aws"],
  ["flux-cli", "flux"],
  ["opentofu", "tofu"],
]);

const showsSettings = (command: SimpleCommand): boolean =>
  command.args.includes("get") && command.args.some((arg) => SETTINGS.test(arg)) &&
  optionValues(command, "-o", "--output").some((format) => format === "yaml" || format === "json");
const SETTINGS = /^(?:cm|configmaps?)(?:\/|$)/;

/** Settings of what runs, in which passwords often stand. */
const SECRETS: Flow = { ...NOTHING, secret: true };

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

/** `docker cp web:/x folder`. */
function copiedOut(command: SimpleCommand): readonly string[] {
  const words = operands(command);
  return words[0] === "cp" || words[1] === "cp"
    ? words.slice(-1).filter((path) => !path.includes(":"))
    : [];
}

const CLUSTER =
  "namespace context kubeconfig cluster container user as server token image target pod-running-timeout filename";

const CARRIED = new Set(["crictl", "ctr", "helm", "helm3", "istioctl", "kubectl"]);

function carried({ args }: SimpleCommand): Inner[] {
  const at = args.findIndex((arg) => !arg.startsWith("-"));
  const name = args[at] ?? "";
  return CARRIED.has(name) ? [{ kind: "argv", argv: [name, ...args.slice(at + 1)] }] : [];
}

/** Container engines and clusters. */
export const CONTAINERS: readonly Family[] = [
  {
    names: ["docker", "podman", "nerdctl"],
    valuedLetters: "acehHlmpuvw",
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
    ownEnvironment: always,
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
    names: ["kubectl", "oc", "kubecolor", "k"],
    wrappers: forVerbs(["exec", "rsh", "debug"], { short: "ncsf", long: CLUSTER, skip: 1 }),
  },
  {
    names: ["kubectl", "oc"],
    ownEnvironment: always,
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
    wrappers: [{ verbs: "rook-ceph", short: "n", long: CLUSTER }, {
      verbs: "kubectl exec",
      short: "ncsf",
      long: CLUSTER,
      skip: 1,
    }],
    prints: (command, incoming, readFile) =>
      showsSettings(command) ? SECRETS : printsSettings(command, incoming, readFile),
  },
  // The command lines that they carry: `k3s kubectl get pods`.
  { names: ["k0s", "k3s", "microk8s", "rancher", "rke2"], unwrap: carried },
  { names: ["helm3"], unwrap: ({ args }) => [{ kind: "argv", argv: ["helm", ...args] }] },
  { names: ["docker", "podman", "nerdctl", "kubectl", "oc"], writes: copiedOut },
  {
    names: ["helm"],
    prints: (command, incoming, readFile) =>
      /^get (?:all|values)$/.test(command.args.slice(0, 2).join(" "))
        ? SECRETS
        : printsSettings(command, incoming, readFile),
  },
  {
    names: ["docker", "podman", "nerdctl", "docker-compose", "podman-compose"],
    prints: ({ args }) => args.includes("inspect") || args.includes("config") ? SECRETS : null,
  },
  {
    names: ["lxc", "incus"],
    wrappers: [{ verbs: "exec", long: "user group cwd env mode", skip: 1 }],
    ownEnvironment: always,
  },
  { names: ["lxc-attach"], wrappers: [{ short: "n", long: "name" }], opensShell: always },
  { names: ["lxc-execute"], wrappers: [{ short: "n", long: "name" }] },
  {
    names: ["crictl"],
    // `-t` is a number of seconds before crictl's verb, and asks for a terminal behind it.
    wrappers: ["rct", "rc"].map((short) => ({
      verbs: "exec",
      short,
      long: "timeout runtime-endpoint image-endpoint config",
      skip: 1,
      ends: true,
    })),
  },
  {
    names: ["ctr"],
    wrappers: forVerbs(["t exec", "task exec", "tasks exec"], {
      short: "na",
      long: "namespace address exec-id cwd user fifo-dir log-uri",
      skip: 1,
    }),
  },
  {
    names: ["buildah"],
    wrappers: [{
      verbs: "run",
      short: "uve",
      long: "user volume env runtime cap-add cap-drop hostname isolation network mount workingdir",
      skip: 1,
      ends: true,
    }],
  },
  {
    names: ["runc", "crun"],
    wrappers: [{
      verbs: "exec",
      short: "eupcg",
      long: "env user process cwd cap pid-file console-socket",
      skip: 1,
    }],
  },
];
