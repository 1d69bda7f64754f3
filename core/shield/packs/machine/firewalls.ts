import { hasFlag, operands, optionValues } from "../../programs/arguments.ts";
import { changeRule, type Test } from "../production/change.ts";

const NFT_CHANGES =
  /(?:^|[;\n])[ \t]*(?:add|insert|create|replace|rename|delete|destroy|flush|reset|import)\b/;

/** `nft add rule …` and `nft 'add rule …'` say the same; so does standard input with `-f -`. */
const changesTables: Test = (command) =>
  hasFlag(command, "fi", "file", "interactive") || NFT_CHANGES.test(operands(command).join(" "));

const startsAny = (...starts: readonly string[]): Test => ({ args }) =>
  args.some((arg) => starts.some((start) => arg.startsWith(start)));

const namesAny = (...words: readonly string[]): Test => ({ args }) =>
  args.some((arg) => words.includes(arg.toLowerCase()));

/** Filters of packets: whoever opens one lets somebody in, whoever closes one may lock somebody out. */
export const FIREWALL_CHANGES = [
  changeRule({
    id: "production.firewall",
    title: "Change the firewall",
    changes: [
      {
        names: "iptables ip6tables iptables-nft ip6tables-nft iptables-legacy ip6tables-legacy " +
          "ebtables ebtables-nft ebtables-legacy arptables arptables-nft arptables-legacy",
        needs: "-A -I -R -D -N -X -P -E -F -Z --append --insert --replace --delete --new-chain " +
          "--delete-chain --policy --rename-chain --flush --zero --atomic-commit --init-table",
      },
      { names: "iptables-apply ip6tables-apply iptables-legacy-restore iptables-nft-restore" },
      { names: "ebtables-restore arptables-restore" },
      {
        names: "netfilter-persistent iptables-persistent",
        verbs: ["save|start|stop|reload|restart|flush"],
      },
      { names: "nft", passes: "-c --check -v -V --version", when: changesTables },
      {
        names: "ufw",
        passes: "--dry-run",
        verbs: [
          "allow|deny|reject|limit|delete|insert|prepend|route|rule|enable|disable|reload|reset",
          "logging|default",
          "app update|default",
        ],
      },
      {
        names: "firewall-cmd firewall-offline-cmd",
        when: startsAny(
          ...["--add-", "--remove-", "--set-", "--change-", "--new-", "--delete-", "--load-"],
          ...["--reload", "--complete-reload", "--runtime-to-permanent", "--reset-to-defaults"],
          ...["--panic-o", "--lockdown-o", "--passthrough", "--enabled", "--disabled"],
        ),
      },
      { names: "pfctl", passes: "-n", needs: "-f -F -e -E -d -k -K -X" },
      {
        names: "pfctl",
        passes: "-n",
        when: (command) =>
          optionValues(command, "-T").some((verb) => !["show", "test"].includes(verb)),
      },
      {
        names: "ipfw",
        passes: "-n",
        verbs: [
          "add|delete|flush|zero|resetlog|set|disable|enable|nat|pipe|queue|sched|internal",
          "table * add|delete|flush|create|destroy|modify|swap|lock|unlock",
        ],
      },
      {
        names: "npfctl",
        verbs: ["start|stop|reload|flush|load", "rule|table * add|rem|flush"],
      },
      {
        names: "shorewall shorewall6 shorewall-lite",
        verbs: [
          "start|stop|restart|reload|clear|refresh|safe-start|safe-restart|try|enable|disable|drop",
          "reject|allow|logdrop|logreject|blacklist|open|close|reset|save|restore|forget|update",
        ],
      },
      {
        names: "csf",
        needs: "-a -d -ar -dr -ta -td -tr -tra -trd -r -ra -q -s -f -sf -e -x -u -uf -cr --add " +
          "--deny --restart --start --stop --enable --disable --addrm --denyrm --tempallow --tempdeny",
      },
      {
        names: "fail2ban-client",
        verbs: ["set|reload|restart|start|stop|unban|banip|add|flushlogs|sleep"],
      },
      {
        names: "cscli",
        verbs: [
          "decisions add|delete|import",
          "bouncers|machines add|delete",
          "* install|remove|upgrade",
        ],
      },
      {
        names: "ipset",
        verbs: ["create|n|add|del|destroy|x|flush|rename|e|swap|w|restore"],
      },
      { names: "ipset", needs: "-N -A -D -X -F -E -W -R" },
      {
        names: "socketfilterfw",
        when: startsAny("--set", "--add", "--remove", "--block", "--unblock"),
      },
      {
        names: "netsh",
        when: namesAny(
          ...["add", "set", "delete", "reset", "import", "enable", "disable", "connect"],
          ...["disconnect", "restore", "start", "stop", "install", "uninstall", "exec", "-f"],
        ),
      },
      {
        names: "new-netfirewallrule set-netfirewallrule " +
          "enable-netfirewallrule copy-netfirewallrule " +
          "rename-netfirewallrule set-netfirewallsetting " +
          "new-netipsecrule add-netnatstaticmapping new-netnat",
        passes: "-whatif -WhatIf -Whatif",
      },
    ],
    explanation: "It changes which connections the machine lets in and out.",
    safer: "List the rules first, test the new ones, and let a timer take them back.",
    hits: [
      "iptables -I INPUT 1 -p tcp --dport 4444 -j ACCEPT",
      "iptables -w 5 -t nat -A PREROUTING -p tcp --dport 80 -j REDIRECT --to-port 8080",
      "ip6tables --insert INPUT -p tcp --dport 22 -j ACCEPT",
      "nft -f /etc/nftables.conf",
      "nft add rule inet filter input tcp dport 22 accept",
      "nft 'insert rule inet filter input drop'",
      "ufw allow 443/tcp",
      "ufw --force enable",
      "firewall-cmd --permanent --zone=public --add-service=http",
      "firewall-cmd --reload",
      "pfctl -f /etc/pf.conf",
      "pfctl -t bad -T add 192.0.2.1",
      "ipset add blocked 192.0.2.1",
      "fail2ban-client set sshd unbanip 192.0.2.1",
      "netsh advfirewall firewall add rule name=web dir=in action=allow localport=80",
      "pwsh -c 'New-NetFirewallRule -DisplayName web -Action Allow'",
    ],
    misses: [
      "iptables -L -n -v",
      "iptables -t nat -S",
      "iptables -C INPUT -p tcp --dport 22 -j ACCEPT",
      "iptables-save > rules.v4",
      "nft list ruleset",
      "nft -c -f /etc/nftables.conf",
      "ufw status numbered",
      "ufw --dry-run allow 22",
      "ufw app info nginx",
      "firewall-cmd --list-all",
      "firewall-cmd --query-service=ssh",
      "pfctl -sr",
      "pfctl -nf /etc/pf.conf",
      "pfctl -t bad -T show",
      "ipset list",
      "fail2ban-client status sshd",
      "netsh advfirewall show allprofiles",
      "pwsh -c 'Get-NetFirewallRule'",
    ],
  }),
];
