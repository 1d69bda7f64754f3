import type { Rule, SimpleCommand } from "../../model.ts";
import { wordsOf } from "../../programs/arguments.ts";
import { changeRule } from "./change.ts";

const ENGINES = "docker podman nerdctl";
const COMPOSE = "up|down|start|stop|restart|kill|pause|unpause|scale|watch";
const MACHINE = "start|stop|restart|reboot|reset|shutdown|suspend|resume|pause|unpause";

/** Whether files are copied into a container: the last operand names one. */
const copiesIn = (command: SimpleCommand): boolean => (wordsOf(command).at(-1) ?? "").includes(":");

/** Changes of running containers and virtual machines. */
export const CONTAINER_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.container_state",
    title: "Start, stop or change containers",
    changes: [
      {
        names: ENGINES,
        verbs: [
          "start|stop|restart|kill|pause|unpause|update|rename",
          "container start|stop|restart|kill|pause|unpause|update|rename|checkpoint|restore",
          "network connect|disconnect|update|reload",
          "plugin install|enable|set|upgrade",
          "pod start|stop|restart|kill|pause|unpause",
          "play|kube kube|play|apply|down",
          "checkpoint create",
        ],
      },
      { names: ENGINES, verbs: ["cp", "container cp"], when: copiesIn },
      { names: "podman", passes: "--dry-run", verbs: ["auto-update", "quadlet install|rm"] },
      {
        names: "crictl",
        verbs: ["start|stop|stopp|create|run|runp|update|update-runtime-config|checkpoint"],
      },
      {
        names: "ctr",
        verbs: [
          "t|task|tasks start|kill|pause|resume|checkpoint|attach",
          "c|containers create|restore",
        ],
      },
      { names: "runc crun", verbs: ["start|kill|pause|resume|update|restore|checkpoint"] },
    ],
    explanation: "It starts, stops or changes containers that others may use.",
    safer: "Inspect the container first.",
    hits: [
      "docker restart web",
      "docker stop web && docker start web",
      "docker update --memory 1g web",
      "docker cp app.conf web:/etc/app.conf",
      "podman auto-update",
      "docker --context prod container restart web",
      "podman kube play pod.yaml",
      "crictl stop 4f2a",
    ],
    misses: [
      "docker ps -a",
      "docker cp web:/app/log.txt .",
      "docker logs --tail 100 web",
      "docker build -t app:dev .",
      "docker run --rm -it node:22 node -v",
      "docker inspect web",
      "podman auto-update --dry-run",
      "docker stats --no-stream",
      "crictl ps",
      "docker pull redis:7",
    ],
  }),
  changeRule({
    id: "production.container_compose",
    title: "Start, stop or change a set of containers",
    changes: [
      { names: ENGINES, passes: "--dry-run", verbs: [`compose ${COMPOSE}`] },
      { names: "docker-compose podman-compose", passes: "--dry-run", verbs: [COMPOSE] },
      { names: ENGINES, passes: "--dry-run", verbs: ["compose cp"], when: copiesIn },
    ],
    explanation: "It starts, stops or replaces the containers of a whole application.",
    safer: "Look first: docker compose ps, docker compose config; --dry-run shows the steps.",
    hits: [
      "docker compose up -d",
      "docker compose -f prod.yml --profile web restart api",
      "docker-compose down",
      "docker compose pull && docker compose up -d --no-deps web",
      "podman-compose restart",
    ],
    misses: [
      "docker compose ps",
      "docker compose logs -f --tail=20",
      "docker compose --dry-run up -d",
      "docker compose config",
      "docker compose pull",
      "docker compose -f docker-compose.test.yml run --rm test pytest",
      "docker-compose build",
    ],
  }),
  changeRule({
    id: "production.container_swarm",
    title: "Change a swarm or its services",
    changes: [
      {
        names: ENGINES,
        verbs: [
          "service create|update|scale|rollback",
          "stack deploy|up",
          "swarm init|join|leave|update|unlock",
          "node update|promote|demote",
          "secret|config create",
        ],
      },
      { names: ENGINES, needs: "--rotate", verbs: ["swarm ca|join-token|unlock-key"] },
    ],
    explanation: "It changes the machines of a swarm, or what runs on them.",
    safer: "Look first: docker service ps, docker stack services.",
    hits: [
      "docker service update --image web:2 web",
      "docker service scale web=5",
      "docker stack deploy -c stack.yml shop",
      "docker node update --availability drain n2",
    ],
    misses: [
      "docker service ps web",
      "docker stack services shop",
      "docker node ls",
      "docker swarm join-token worker",
    ],
  }),
  changeRule({
    id: "production.machine_state",
    title: "Start, stop or change virtual machines",
    changes: [
      {
        names: "virsh",
        verbs: [
          `${MACHINE}|destroy|create|define|edit|migrate|save|autostart|inject-nmi|send-key|rename`,
          "setmem|setmaxmem|setvcpus|setvcpu|memtune|blkiotune|blkdeviotune|schedinfo|domiftune",
          "attach-device|attach-disk|attach-interface|detach-device|detach-disk|detach-interface",
          "update-device|change-media|domif-setlink|blockresize|blockcommit|blockpull|blockcopy",
          "net-start|net-define|net-update|net-edit|net-create|net-autostart|net-destroy|iface-bridge",
          "pool-start|pool-define|pool-edit|pool-create|pool-autostart|pool-destroy|managedsave|metadata",
          "reboot|guest-agent-timeout|set-user-password|iothreadadd|iothreaddel|nwfilter-define",
        ],
      },
      {
        names: "lxc incus",
        verbs: [
          `${MACHINE}|launch|init|create|rebuild|restore|move|mv|rename|edit|import|publish`,
          "config set|unset|edit|device|trust|template|metadata",
          "!config device list|show|get",
          "!config trust list|show",
          "!config template list|show",
          "profile|network|storage|project|cluster|remote set|unset|edit|create|attach|detach|assign|apply|add|update",
          "file push|edit",
          "snapshot restore",
        ],
      },
      {
        names: "qm pct",
        verbs: [
          `${MACHINE}|set|create|clone|migrate|resize|rollback|template|restore|move|move-disk|unlock`,
          "importdisk|importovf|sendkey|monitor|push|remote-migrate|rescan|cleanup",
        ],
      },
      { names: "pvesh", verbs: ["create|set"] },
      {
        names: "xe",
        verbs: [
          "vm-start|vm-shutdown|vm-reboot|vm-resume|vm-suspend|vm-migrate|vm-install|vm-reset-powerstate",
          "host-reboot|host-shutdown|host-disable|host-enable|pool-join|patch-apply|update-apply",
        ],
      },
      {
        names: "govc",
        verbs: [
          "vm.power|vm.change|vm.migrate|vm.create|vm.clone|host.maintenance.enter|host.service",
        ],
      },
    ],
    explanation: "It starts, stops or changes a virtual machine, or its network and storage.",
    safer: "Look first: virsh dominfo, lxc info, qm config.",
    hits: [
      "virsh reboot web1",
      "virsh setmem web1 8G --live",
      "lxc stop c1",
      "qm set 100 --memory 8192",
      "incus config set web limits.cpu 4",
    ],
    misses: [
      "virsh list --all",
      "virsh snapshot-list web",
      "lxc list",
      "qm status 100",
      "incus config device list web",
    ],
  }),
];
