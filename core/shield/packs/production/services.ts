import type { Rule, SimpleCommand } from "../../model.ts";
import { wordsOf } from "../../programs/arguments.ts";
import { changeRule } from "./change.ts";

const wordsOver = (count: number) => (command: SimpleCommand): boolean =>
  wordsOf(command).length > count;

/** The domain of the person who is logged in, of their own agents. */
const isOwnDomain = ({ args }: SimpleCommand): boolean =>
  args.some((arg) => /^(?:gui|user)\/|^~\/Library\/|^\/Users\/[^/]+\/Library\//.test(arg));

/** Stopping a service by its manager is a harm of its own, with rules in `packs/services`. */
const STARTS = "start|restart|reload";
const STARTS_AND_STOPS = `${STARTS}|stop`;

/** Changes of services, by the programs that manage them. */
export const SERVICE_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.service_systemd",
    title: "Start, stop or change a systemd unit",
    changes: [{
      names: "systemctl",
      passes: "--user",
      verbs: [
        `${STARTS}|try-restart|condrestart|reload-or-restart|try-reload-or-restart|force-reload`,
        "reload-or-try-restart|condreload|condstop|clean|freeze|thaw",
        "enable|reenable|preset|preset-all|unmask|link|revert|edit",
        "add-wants|add-requires|set-property|bind|mount-image|daemon-reexec|default",
        "switch-root|cancel|service-log-level * *|service-log-target * *",
      ],
    }, {
      // The last of both options counts; with both, nobody can tell what was meant.
      names: "systemctl",
      needs: "--system",
      verbs: [`${STARTS}|try-restart|reload-or-restart|enable|unmask|edit|link`],
      when: (command) => command.args.includes("--user"),
    }, {
      // The services of another person.
      names: "systemctl",
      needs: "--machine -M",
      verbs: [`${STARTS_AND_STOPS}|try-restart|reload-or-restart|enable|disable|mask|unmask|kill`],
      when: (command) => command.args.includes("--user"),
    }, {
      names: "networkctl",
      verbs: ["up|down|renew|forcerenew|reconfigure|reload|edit|mask|unmask|persistent-storage"],
    }, {
      names: "machinectl",
      verbs: ["start|stop|reboot|poweroff|terminate|kill|enable|disable|copy-to|bind"],
    }],
    explanation: "It starts, stops, reloads or reconfigures services of the machine.",
    safer: "Look at the unit first: systemctl status, systemctl cat.",
    hits: [
      "systemctl restart nginx",
      "sudo systemctl reload nginx",
      "systemctl --no-block start batch.service",
      "systemctl enable --now node_exporter",
      "systemctl set-property web.service MemoryMax=2G",
      "systemctl daemon-reload && systemctl try-restart app",
      "systemctl --user --system restart x",
      "systemctl -H web1 restart app",
      "systemctl $ACTION nginx",
      "systemctl restart nginx --dry-run",
    ],
    misses: [
      "systemctl status nginx",
      "systemctl is-enabled nginx",
      "systemctl --user restart pipewire",
      "systemctl $OPTIONS status nginx",
      "systemctl daemon-reload",
      "systemctl cat nginx",
      "systemctl list-units --failed",
      "systemctl show -p MainPID restart.service",
      "systemctl restart --help",
      "networkctl status eth0",
    ],
  }),
  changeRule({
    id: "production.service_init",
    title: "Start, stop or change a service",
    changes: [
      {
        names: "service rc-service invoke-rc.d",
        verbs: [
          "* *",
          "!* status|configtest|check|checkconfig|help|usage|version|describe|info|show|test|stop",
        ],
        passes: "--status-all -l --list -e --exists -r --resolve",
      },
      { names: "invoke-rc.d", passes: "--query", verbs: ["* stop|force-stop"] },
      { names: "rc-update", verbs: ["add"] },
      { names: "openrc", passes: "--no-stop", verbs: ["*"] },
      { names: "chkconfig", passes: "--list", needs: "--add --level on reset" },
      {
        names: "update-rc.d",
        passes: "-n --dryrun",
        verbs: ["* defaults|defaults-disabled|enable|start"],
      },
      { names: "insserv", passes: "-n --dryrun", verbs: ["*"] },
      {
        names: "sv",
        verbs: [
          "*",
          "!status|s|check|c",
        ],
        when: wordsOver(1),
      },
      {
        names: "s6-svc svc",
        needs: "-a -b -q -h -k -t -i -1 -2 -p -P -y -r -u -U -d -D -x -O -o -X -Q -c",
      },
      { names: "s6-rc", passes: "-n", verbs: ["change|stop|start"] },
      { names: "s6-rc-update s6-svscanctl runsvchdir", verbs: ["*"] },
      {
        names: "dinitctl",
        passes: "--user",
        verbs: [
          `${STARTS_AND_STOPS}|wake|release|unpin|trigger|untrigger|signal|enable|disable|shutdown|setenv`,
          "add-dep|rm-dep|unload",
        ],
      },
      {
        names: "initctl",
        passes: "--user",
        verbs: [`${STARTS}|emit|reload-configuration|set-env|reset-env|unset-env`],
      },
      {
        names: "rcctl",
        verbs: [`${STARTS}|enable|set`, "order *"],
      },
      { names: "svcadm", verbs: ["*"] },
      { names: "svccfg", verbs: ["*", "!list|export|listpg|listprop|validate|extract"] },
      { names: "sysrc", when: ({ args }) => args.some((arg) => arg.includes("=") || arg === "-x") },
      {
        names: "start-stop-daemon",
        passes: "-t --test -T --status",
        needs: "-S --start -K --stop",
      },
      {
        names: "launchctl",
        verbs: [
          "load|bootstrap|kickstart|enable|start|submit",
          "setenv|unsetenv|config|reboot|limit * *",
        ],
        when: (command) => !isOwnDomain(command),
      },
      {
        names: "brew",
        passes: "-n --dry-run",
        verbs: [`services|service ${STARTS_AND_STOPS}|run|kill|cleanup`],
      },
      {
        names: "snap",
        verbs: ["start|stop|restart|set|unset|connect|disconnect|alias|unalias|prefer"],
      },
    ],
    explanation: "It starts, stops, reloads or reconfigures a service of the machine.",
    safer: "Ask for the service's status first.",
    hits: [
      "service nginx restart",
      "/etc/init.d/nginx restart",
      "rc-service nginx reload",
      "rc-update add nginx default",
      "sv restart web",
      "launchctl kickstart -k system/com.acme.web",
      "chkconfig nginx on",
      "start-stop-daemon --stop --pidfile /run/x.pid",
      "s6-svc -r /run/service/web",
      "svcadm restart network/http:apache24",
      "snap restart nextcloud.apache",
      "brew services restart postgresql@17",
    ],
    misses: [
      "service nginx status",
      "service --status-all",
      "rc-update show",
      "rc-service --list",
      "sv status web",
      "launchctl list com.acme.web",
      "launchctl bootstrap gui/501 ~/Library/LaunchAgents/a.plist",
      "chkconfig --list nginx",
      "svcs -x",
      "rcctl ls started",
      "snap services",
      "brew services list",
    ],
  }),
  changeRule({
    id: "production.service_supervisor",
    title: "Start, stop or change supervised processes",
    changes: [
      {
        names: "supervisorctl",
        verbs: [`${STARTS}|update|add|signal|shutdown|clear|fg`],
      },
      {
        names: "pm2",
        verbs: [
          `${STARTS}|gracefulreload|del|scale|startup|unstartup|save|dump|resurrect`,
          "set|multiset|unset|update|updatepm2|install|uninstall|reset|sendsignal|deploy|trigger",
          "flush|reloadlogs|link|unlink|pull|forward|backward|stopwatch|serve|cleardump",
          "module:install|module:update|module:uninstall",
        ],
      },
      { names: "monit", verbs: [`${STARTS}|monitor|unmonitor|quit|reinit`] },
      { names: "forever", verbs: ["start|stop|stopall|restart|restartall|cleanlogs"] },
      {
        names: "circusctl",
        verbs: [`${STARTS_AND_STOPS}|add|rm|incr|decr|set|signal|quit|reloadconfig`],
      },
      {
        names: "pg_ctl",
        valued: "-D --pgdata -l --log -m --mode -o -p -t --timeout",
        verbs: [`${STARTS_AND_STOPS}|promote|kill|logrotate`],
      },
      { names: "pg_ctlcluster", verbs: [`* * ${STARTS_AND_STOPS}|promote`] },
      {
        names: "passenger-config phusion-passenger",
        verbs: ["restart-app|detach-process|reopen-logs|compile-agent"],
      },
      { names: "catalina.sh", verbs: ["start|stop|run|jpda"] },
      {
        names: "asadmin",
        verbs: [
          "deploy|redeploy|undeploy|set|start-domain|stop-domain|restart-domain|enable|disable",
        ],
      },
    ],
    explanation: "It starts, stops, reloads or reconfigures processes that a supervisor runs.",
    safer: "Ask for the status first.",
    hits: [
      "supervisorctl restart web:*",
      "pm2 reload ecosystem.config.js",
      "monit restart web",
      "pg_ctl -D /var/lib/pg reload",
      "pg_ctlcluster 17 main restart",
    ],
    misses: [
      "supervisorctl status",
      "pm2 list",
      "pm2 logs web",
      "monit summary",
      "pg_ctl status",
      "supervisorctl tail web",
    ],
  }),
];
