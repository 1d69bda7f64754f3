import type { Rule } from "../../model.ts";
import { changeRule } from "./change.ts";

const IP_CHANGES = "add|append|change|chg|replace|set|flush|delete|del";

/** Changes of the settings of a machine, and of servers that are managed as a whole. */
export const SETTING_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.machine_settings",
    title: "Change the settings of the machine",
    changes: [
      {
        names: "hostnamectl",
        verbs: ["set-hostname|set-icon-name|set-chassis|set-deployment", "hostname *"],
      },
      { names: "hostname domainname", verbs: ["*"], passes: "-i -I -f -s -d -A --fqdn --short" },
      { names: "timedatectl", verbs: ["set-time|set-ntp|set-local-rtc|ntp-servers|revert"] },
      { names: "localectl", verbs: ["set-locale|set-keymap|set-x11-keymap"] },
      {
        names: "nmcli",
        verbs: [
          "connection|con|c up|down|modify|mod|m|add|edit|delete|del|reload|load|import|migrate|clone",
          "device|dev|d connect|disconnect|modify|reapply|set|delete|up|down",
          "networking|n off|on",
          "radio|r * on|off",
          "general|g hostname *",
          "general|g reload",
        ],
      },
      { names: "netplan", verbs: ["apply|try|set|rebind"] },
      { names: "ifup", verbs: ["*"], passes: "-n --no-act" },
      {
        names: "ip",
        verbs: [
          `addr|address|a|route|r|ro|rule|ru|neigh|neighbour|n|tunnel ${IP_CHANGES}`,
          "link|l add|set|change|replace",
        ],
      },
      { names: "tc", verbs: ["qdisc|class|filter|action add|change|replace|link|del|delete"] },
      {
        names: "ethtool",
        needs:
          "-s -K -G -C -A -L -N -U -X -W -E -p -r --change --offload --features --set-ring --coalesce",
      },
      { names: "tuned-adm", verbs: ["profile|off|auto_profile"] },
      { names: "brctl", verbs: ["addbr|delbr|addif|delif|stp|setfd|sethello|setageing"] },
      { names: "wg-quick", verbs: ["up|down|save"] },
      { names: "wg", verbs: ["set|setconf|addconf|syncconf"] },
      {
        names: "tailscale",
        verbs: ["up|down|set|logout|switch|serve|funnel|update|lock", "!serve|funnel status"],
      },
      { names: "ifconfig", verbs: ["* *"] },
      { names: "route", verbs: ["add|del|delete|change|flush"] },
      { names: "update-ca-certificates update-ca-trust locale-gen" },
      { names: "debconf-set-selections", passes: "-c --checkonly" },
      { names: "yum-config-manager", needs: "--add-repo --enable --disable --save --setopt" },
    ],
    explanation: "It changes the network, the name, the clock or the trust of the machine.",
    safer: "Show the present settings first, and keep another way in.",
    hits: [
      "nmcli con modify eth0 ipv4.dns 1.1.1.1",
      "hostnamectl set-hostname web2",
      "netplan apply",
      "ip addr add 10.0.0.2/24 dev eth0",
      "ip -4 route replace default via 10.0.0.1",
      "tc qdisc add dev eth0 root netem delay 100ms",
    ],
    misses: [
      "nmcli con show",
      "hostnamectl",
      "netplan get",
      "ip addr show",
      "ip route get 1.1.1.1",
      "ethtool eth0",
      "tc qdisc show",
      "ifconfig eth0",
      "timedatectl status",
    ],
  }),
  changeRule({
    id: "production.server_suite",
    title: "Reconfigure or restart a managed server",
    changes: [
      {
        names:
          "gitlab-ctl chef-server-ctl automate-ctl supermarket-ctl opscode-push-jobs-server-ctl",
        verbs: [
          "reconfigure|restart|start|stop|hup|kill|term|int|once|graceful-kill|upgrade|deploy-page",
          "restart-except|pg-upgrade|set-replication-password|promote|promote-to-primary-node|uninstall|cleanse",
        ],
      },
      {
        names: "squid squid3",
        needs: "-k",
        when: ({ args }) => !args.some((arg) => /^(?:parse|check)$/.test(arg)),
      },
      { names: "uwsgi", needs: "--reload --stop --connect-and-read" },
      {
        names: "certbot",
        passes: "--dry-run --staging --test-cert",
        verbs: ["renew|certonly|install|run|enhance|rollback|reconfigure|update_account"],
      },
      { names: "certbot", passes: "--dry-run --staging --test-cert", needs: "--nginx --apache" },
      {
        names: "jenkins-cli",
        verbs: [
          "restart|safe-restart|quiet-down|cancel-quiet-down|reload-configuration|install-plugin",
          "create-job|update-job|enable-job|disable-job|copy-job|build|shutdown|safe-shutdown",
        ],
      },
      {
        names: "asterisk",
        needs: "-rx -x",
        when: ({ args }) => args.some((arg) => /\b(?:reload|restart|stop|load|unload)\b/.test(arg)),
      },
      {
        names: "zabbix_server zabbix_proxy zabbix_agentd zabbix_agent2",
        needs: "-R --runtime-control",
      },
      {
        names: "splunk",
        verbs: ["start|stop|restart|reload|enable|disable|add|edit|set|install|offline|apply"],
      },
      {
        names: "cloudflared",
        verbs: ["service install", "tunnel create|route|run|cleanup", "update"],
      },
    ],
    explanation: "It reconfigures or restarts a server that many people use.",
    safer: "Check its status and its configuration first.",
    hits: [
      "gitlab-ctl reconfigure",
      "squid -k reconfigure",
      "certbot renew",
      "certbot --nginx -d shop.example",
    ],
    misses: [
      "gitlab-ctl status",
      "squid -k parse",
      "certbot renew --dry-run",
      "certbot certificates",
    ],
  }),
];
