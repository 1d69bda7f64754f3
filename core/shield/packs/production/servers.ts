import { type Rule, type SimpleCommand, UNKNOWN } from "../../model.ts";
import { hasFlag, optionValues, wordsOf } from "../../programs/arguments.ts";
import { changeRule } from "./change.ts";

const NGINX = "nginx openresty tengine angie";
/** What the image of a server sets by itself. */
const runsInFront = (directives: string): boolean => /^\s*daemon (?:off|on);?\s*$/.test(directives);

const STARTS = "start|stop|restart|reload";

/** Changes of servers by their own command lines, by signals, and on Windows. */
export const SERVER_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.service_server",
    title: "Reload or restart a server",
    changes: [
      { names: NGINX, needs: "-s" },
      {
        names: NGINX,
        needs: "-c -g -e",
        passes: "-t -T -v -V",
        when: (command) => !optionValues(command, "-g").every(runsInFront),
      },
      {
        names: "apachectl apache2ctl httpd apache2",
        verbs: ["start|stop|restart|graceful|graceful-stop"],
      },
      { names: "apachectl apache2ctl httpd apache2", needs: "-k" },
      { names: "a2ensite a2dissite a2enmod a2dismod a2enconf a2disconf", verbs: ["*"] },
      { names: "haproxy", needs: "-sf -st -x" },
      { names: "caddy", verbs: [`${STARTS}|upgrade|add-package|remove-package|trust|untrust`] },
      {
        names: "varnishadm",
        verbs: ["start|stop|ban|vcl.load|vcl.inline|vcl.use|vcl.discard|vcl.state|param.set"],
      },
      { names: "varnishadm", verbs: ["param.reset|backend.set_health"] },
      { names: "varnishreload", passes: "-l -m" },
      { names: "postfix sendmail", verbs: [`${STARTS}|abort|flush|drain|set-permissions`] },
      {
        names: "rndc",
        verbs: [
          `${STARTS}|halt|flush|flushname|flushtree|freeze|thaw|reconfig|addzone|delzone|modzone`,
          "sync|sign|loadkeys|refresh|retransfer|scan|trace|notrace|querylog",
        ],
      },
      {
        names: "unbound-control nsd-control",
        verbs: [
          `${STARTS}|flush|flush_zone|flush_type|flush_all|set_option|local_zone|local_data`,
          "forward_add|stub_add|reload_keep_cache|addzone|delzone|changezone|transfer|force_transfer",
        ],
      },
      {
        names: "pdns_control rec_control",
        verbs: ["cycle|purge|quit|rediscover|reload|set|reload-zones|wipe-cache"],
      },
      {
        names: "knotc",
        verbs: [`${STARTS}|zone-reload|zone-refresh|zone-set|zone-commit|conf-commit`],
      },
      {
        names: "socat nc ncat",
        when: ({ args, stdin }) =>
          args.some((arg) => arg.toLowerCase().includes("haproxy")) &&
          BALANCER_VERBS.has((stdin?.text ?? "").trim().split(" ", 1)[0]!.toLowerCase()),
      },
    ],
    explanation: "It restarts a server, or makes it run with another configuration.",
    safer: "Test the configuration first: nginx -t, apachectl configtest, caddy validate.",
    hits: [
      "nginx -s reload",
      "nginx -t && nginx -s reload",
      "nginx -c /tmp/alt.conf -g 'user root;'",
      "apachectl graceful",
      "httpd -k restart",
      "caddy reload --config /etc/caddy/Caddyfile",
      "haproxy -f /etc/haproxy/haproxy.cfg -sf $(pidof haproxy)",
      "rndc reload",
      'echo "disable server be/web1" | socat stdio /run/haproxy/admin.sock',
    ],
    misses: [
      "nginx -t",
      "nginx -t -c ./test/nginx.conf",
      "nginx -g 'daemon off;'",
      "apachectl configtest",
      "caddy validate --config /etc/caddy/Caddyfile",
      "haproxy -c -f /etc/haproxy/haproxy.cfg",
      "rndc status",
      'echo "show stat" | socat stdio /run/haproxy/admin.sock',
      "varnishadm backend.list",
    ],
  }),
  changeRule({
    id: "production.service_signal",
    title: "Signal a service to reload or end",
    changes: [
      { names: "kill", when: signalsComputed },
      { names: "pkill killall", when: signalsDaemon },
    ],
    explanation: "It makes a running service read its configuration again, or end.",
    safer: "Use the service manager, which checks the configuration first.",
    hits: [
      "kill -HUP $(cat /run/nginx.pid)",
      "pkill -HUP sshd",
      "kill -s USR2 $(pidof unicorn)",
      "killall nginx",
      "pkill -USR1 gunicorn",
    ],
    misses: [
      "kill -0 $(cat /run/nginx.pid)",
      "kill -HUP 1234",
      "pkill -0 nginx",
      "pkill -f 'vite dev'",
      "kill $(cat app.pid)",
      "pkill -USR1 dd",
      "pgrep nginx",
    ],
  }),
  changeRule({
    id: "production.service_windows",
    title: "Start, stop or change a Windows service",
    changes: [
      {
        names: "sc",
        verbs: ["start|config|create|failure|failureflag|pause|continue|control|sdset|triggerinfo"],
      },
      {
        names: "sc",
        verbs: ["* start|config|create|failure|pause|continue|control|sdset"],
        when: ({ args }) => (args[0] ?? "").startsWith("\\"),
      },
      { names: "net net1", verbs: ["start|stop|pause|continue *"] },
      { names: "nssm", verbs: [`${STARTS}|install|set|reset|remove|rotate|pause|continue`] },
      { names: "iisreset", passes: "/status /? /help", hasH: true },
      {
        names: "appcmd",
        verbs: ["add|set|start|recycle|reset|restore|install|migrate|unlock|lock"],
      },
      {
        names: [
          "start-service restart-service set-service new-service suspend-service resume-service",
          "start-website stop-website restart-webapppool start-webapppool",
          "stop-webapppool start-iissite stop-iissite start-vm restart-vm stop-vm",
          "start-scheduledtask enable-scheduledtask disable-scheduledtask stop-scheduledtask",
          "move-clustergroup start-clusterresource stop-clusterresource restart-computer",
          "restart-netadapter disable-netadapter enable-netadapter set-netipaddress new-netipaddress",
          "set-dnsclientserveraddress set-itempropery set-webconfigurationproperty new-website",
        ].join(" "),
        passes: "-whatif -WhatIf -Whatif",
      },
      { names: "icm invoke-command", needs: "-FilePath -filepath" },
      {
        names: "restore-vmsnapshot restore-vmcheckpoint set-dnsserverresourcerecord " +
          "remove-dnsserverresourcerecord set-dnsserverforwarder set-vm set-vmprocessor set-vmmemory " +
          "move-vm import-vm update-vmversion",
        passes: "-whatif -WhatIf -Whatif",
      },
      { names: "schtasks", verbs: ["/run|/end|/change"] },
    ],
    explanation: "It starts, stops or reconfigures a service of a Windows machine.",
    safer: "Look at the service first: sc query, Get-Service; -WhatIf shows what would happen.",
    hits: [
      "net start app",
      "iisreset",
      "pwsh -Command 'Restart-Service app'",
      "sc config app start= auto",
      "powershell Set-Service app -StartupType Automatic",
    ],
    misses: [
      "net start",
      "iisreset /status",
      "sc query app",
      "pwsh -c 'Get-Service app'",
      "pwsh -c 'Restart-Service app -WhatIf'",
      "schtasks /query",
    ],
  }),
];

const BALANCER_VERBS = new Set([
  "add",
  "clear",
  "commit",
  "del",
  "disable",
  "enable",
  "set",
  "shutdown",
]);

/** Signals that make a service reload, reopen its logs or hand over. */
const RELOADS = /^(?:SIG)?(?:HUP|USR1|USR2|WINCH|1|10|12|28)$/i;

function signalOf(command: SimpleCommand): string {
  // The other options of pkill with one letter choose processes.
  const options = command.name === "pkill" ? ["--signal"] : ["-s", "-n", "--signal"];
  const [named] = optionValues(command, ...options);
  return named ?? command.args.find((arg) => /^-(?:\d+|[A-Z]+\d?)$/.test(arg))?.slice(1) ?? "TERM";
}

/** Whether processes that the line finds out are told to reload; numbers may be anybody's own. */
function signalsComputed(command: SimpleCommand): boolean {
  return RELOADS.test(signalOf(command)) &&
    command.args.some((arg) => arg.includes(UNKNOWN) && !/\bdd$/.test(arg));
}

function signalsDaemon(command: SimpleCommand): boolean {
  const signal = signalOf(command);
  if (/^(?:SIG)?(?:0|EXIT|INFO)$/i.test(signal)) return false;
  const names = wordsOf(command);
  if (RELOADS.test(signal)) return names.some((name) => name !== "dd" && name !== signal);
  return !hasFlag(command, "f", "full") && names.some((name) => DAEMONS.has(name.toLowerCase()));
}

/** Servers that others rely on. */
const DAEMONS = new Set(
  ("apache2 httpd nginx haproxy caddy traefik envoy varnishd squid lighttpd php-fpm gunicorn uwsgi unicorn puma " +
    "redis-server memcached mongod mysqld mariadbd postgres postgres cassandra elasticsearch kafka rabbitmq-server " +
    "beam.smp named unbound dnsmasq slapd postfix master dovecot exim4 vsftpd smbd nmbd nfsd prometheus grafana-server " +
    "node_exporter telegraf consul nomad vault kubelet containerd dockerd haproxy keepalived chronyd ntpd snmpd " +
    "tomcat catalina wildfly jenkins").split(" "),
);
