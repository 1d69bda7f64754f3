import { operands, optionValues, wordsOf } from "../../programs/arguments.ts";
import { changeRule, type Test } from "../production/change.ts";

/** Subcommands of virtual switches that change something; `lsp-set-type` begins with what it concerns. */
const SWITCHES =
  /^(?:add|del|set|clear|remove|destroy|create|mod|emer|\w+-(?:options-)?(?:add|del|set|attach|detach))(?:-|$)/;

/** `date 010112002026`: a time to set stands among the operands; with `-j` it is only shown. */
const setsDate: Test = (command) =>
  operands(command, DATE_VALUED).some((word) => /^\d{8}(?:\d{2}){0,2}(?:\.\d{2})?$/.test(word));

const DATE_VALUED = new Set(["-d", "--date", "-r", "--reference", "-f", "--file", "-v", "-I"]);

const starts = (start: RegExp): Test => ({ args }) => args.some((arg) => start.test(arg));

/** Whether a shell of a router is told to change something. */
const configures: Test = (command) =>
  optionValues(command, "-c", "--command").some((text) =>
    /^\s*(?:conf|clear|write|copy|reload|no|debug|terminal)/.test(text)
  ) || optionValues(command, "-f", "--inputfile").length > 0 || command.args.includes("-b");

/** Interfaces, routes, names and tunnels, as other tools than those of `settings.ts` change them. */
export const NETWORK_CHANGES = [
  changeRule({
    id: "production.network",
    title: "Change the machine's network",
    changes: [
      {
        names: "ip",
        verbs: [
          "netns|tuntap|maddress|maddr|m|nexthop|addrlabel|fou|ila|l2tp|macsec|mptcp|sr|token|tcp_metrics " +
          "add|append|change|replace|set|flush|delete|del|d|attach",
          "xfrm|x state|policy|monitor add|update|allocspi|set|flush|delete|del|deleteall",
          "addr|address|a|route|r|ro|rule|ru|neigh|neighbor|neighbour|n|tunnel a|ad|d|de|f|restore|deleteall",
          "neighbor|tunnel|tun add|append|change|replace|set|flush|delete|del",
          "link|l delete|del|d|a|ad",
          "link|l property add|del",
        ],
      },
      {
        names: "ip tc bridge",
        when: ({ args }) => args.some((arg) => /^--?b(?:atch)?$/.test(arg)),
      },
      {
        names: "bridge",
        verbs: ["link set", "fdb|mdb|vlan|vni add|append|replace|set|del|delete|flush"],
      },
      { names: "arp", needs: "-s -d -f --set --delete --file -S" },
      {
        names: "ethtool",
        needs: "--reset --flash -f --set-priv-flags --set-channels --set-eee --set-fec " +
          "--set-phy-tunable --set-rxfh-indir --config-ntuple --config-nfc --pause --change-eeprom " +
          "--test -t --negotiate --set-dump --set-module --set-tunable --identify",
      },
      { names: "mii-tool", needs: "-r -R -A -F --restart --reset --advertise --force" },
      { names: "iwconfig", when: (command) => wordsOf(command).length > 1 },
      {
        names: "iw",
        verbs: [
          "dev * set|del|connect|disconnect|auth|join|leave|ibss|mesh|interface|ap",
          "phy * set|interface",
          "reg set",
        ],
      },
      {
        names: "nmcli",
        verbs: ["general|g logging *", "device|dev|d wifi|w connect|hotspot|c"],
      },
      {
        names: "resolvectl systemd-resolve",
        verbs: [
          "llmnr|mdns|dnsovertls|dnssec|nta|default-route|dns|domain * *",
          "revert|reset-server-features",
          "log-level *",
        ],
      },
      { names: "resolvconf", needs: "-a -d -u --enable-updates --disable-updates" },
      { names: "ifreload", passes: "-s --syntax-check -n --no-act" },
      { names: "dhclient dhcpcd udhcpc pump", passes: "--version -T --test -U --dumplease -V" },
      { names: "vconfig", verbs: ["add|rem|set_flag|set_egress_map|set_ingress_map"] },
      { names: "ifenslave tunctl openconnect vpnc pon poff wondershaper" },
      {
        names: "ovs-vsctl ovn-nbctl ovn-sbctl",
        when: starts(SWITCHES),
      },
      {
        names: "ovs-ofctl ovs-dpctl ovs-appctl",
        when: starts(
          /^(?:add|del|mod|replace|set)-|^(?:exit|fdb\/flush|revalidator\/purge|vlog\/set)/,
        ),
      },
      { names: "lldpcli teamdctl", verbs: ["configure|pause|resume|state", "config update"] },
      {
        names: "tailscale",
        verbs: ["login", "file cp", "drive share|unshare|rename"],
      },
      { names: "zerotier-cli", verbs: ["join|leave|set|orbit|deorbit"] },
      {
        names: "netbird nebula twingate warp-cli nordvpn protonvpn mullvad",
        verbs: ["up|down|login|logout|connect|disconnect|set|start|stop|registration|mode|c|d"],
      },
      {
        names: "openvpn",
        passes: "--version --genkey --show-tls --show-ciphers --show-digests",
        needs: "--config --remote --daemon --server --dev",
      },
      {
        names: "ipsec strongswan",
        verbs: [
          "start|stop|restart|up|down|route|unroute|reload|update|rereadall|rereadsecrets",
          "auto|whack|purgeike|purgecrls|reset",
        ],
        passes: "--status --statusall --showstates",
      },
      {
        names: "swanctl",
        needs: "--load-all --load-conns --load-creds --load-pools --load-authorities --initiate " +
          "--terminate --install --uninstall --rekey --redirect --flush-certs -q -i -t -r -p -u -R -d",
      },
      { names: "vtysh", passes: "-C --dryrun", when: configures },
      {
        names: "birdc birdcl bird6c",
        verbs: [
          "configure|disable|enable|restart|reload|down|graceful|debug|echo",
          "!configure check|status",
        ],
      },
      {
        names: "gobgp",
        verbs: [
          "neighbor * add|del|update|reset|softreset|softresetin|softresetout|shutdown|enable|disable",
          "global|vrf|policy|rpki add|del|set|reset|enable|disable",
          "global rib add|del",
        ],
      },
      { names: "ss", needs: "-K --kill" },
      { names: "conntrack", needs: "-F -D -I -U --flush --delete --create --update" },
      {
        names: "ipvsadm",
        needs: "-A -E -D -C -R -a -e -d -Z --add-service --edit-service --delete-service --clear " +
          "--restore --add-server --edit-server --delete-server --zero --set --start-daemon --stop-daemon",
      },
      { names: "cloudflared", verbs: ["service uninstall", "tunnel delete|update"] },
      { names: "scutil", when: starts(/^--set$/) },
      { names: "scutil", verbs: ["start|stop|enable|disable"], needs: "--nc" },
      { names: "systemsetup", when: starts(/^-set/i) },
      {
        names: "networksetup",
        when: starts(
          /^-(?:set|add|remove|create|delete|duplicate|switch|order|rename|connect|disconnect|import|enable|disable)/i,
        ),
      },
      { names: "ipconfig", when: starts(/^[-/](?:release|renew|registerdns|setclassid)/i) },
      { names: "ipconfig", verbs: ["set|setverbose"] },
      {
        names: "set-netipinterface new-netroute set-netroute " +
          "set-netadapter rename-netadapter set-netadapteradvancedproperty set-netconnectionprofile " +
          "set-dnsclient set-dnsclientglobalsetting add-dnsserverresourcerecord " +
          "add-vpnconnection new-vmswitch new-netlbfoteam " +
          "add-computer set-date set-timezone " +
          "set-netadapterbinding enable-netadapterbinding new-netneighbor",
        passes: "-whatif -WhatIf -Whatif",
      },
    ],
    explanation: "It changes an interface, a route, a tunnel or name resolution of the machine.",
    safer: "Show the present state first, and keep another way in.",
    hits: [
      "ip netns add blue",
      "ip a a 10.0.0.1/24 dev eth0",
      "ip -batch changes.txt",
      "bridge vlan add dev eth0 vid 10",
      "resolvectl dnssec eth0 no",
      "ovs-vsctl add-br br0",
      "vtysh -c 'configure terminal' -c 'router bgp 65000'",
      "zerotier-cli join 8056c2e21c000001",
      "networksetup -setdnsservers Wi-Fi 192.0.2.1",
      "dhclient -r eth0",
    ],
    misses: [
      "ip netns list",
      "ip a",
      "ip -br a",
      "bridge vlan show",
      "resolvectl status",
      "resolvectl dns eth0",
      "ovs-vsctl show",
      "vtysh -c 'show ip bgp summary'",
      "arp -an",
      "networksetup -getinfo Wi-Fi",
      "ipconfig /all",
    ],
  }),
  changeRule({
    id: "production.clock",
    title: "Change the machine's clock",
    changes: [
      { names: "date gdate", passes: "-j", when: setsDate },
      {
        names: "hwclock",
        passes: "--test",
        needs: "-w -s -a --systohc --hctosys --set --adjust --systz --setepoch --param-set",
      },
      { names: "ntpdate", passes: "-q -d", verbs: ["*"] },
      {
        names: "chronyc",
        verbs: [
          "makestep|add|delete|offline|online|burst|settime|trimrtc|reload|rekey|shutdown|allow|deny",
          "onoffline|refresh|reselect|reset|writertc|dfreq|doffset|local|manual|maxupdateskew|cyclelogs",
        ],
      },
      { names: "chronyd ntpd", passes: "-Q -p", needs: "-q -g -s" },
      { names: "sntp", needs: "-S -s" },
      { names: "rdate", passes: "-p" },
      { names: "adjtimex", needs: "-t -f -s -o -a --tick --frequency --offset --set --adjust" },
      {
        names: "w32tm",
        when: ({ args }) =>
          args.some((arg) => /^\/(?:resync|config|register|unregister)/i.test(arg)),
      },
    ],
    explanation: "It changes the machine's clock, on which certificates, logs and schedules rest.",
    safer: "Let the time service set the clock.",
    hits: ["date 010112002026", "hwclock --systohc", "chronyc makestep", "ntpdate pool.ntp.org"],
    misses: [
      "date -d 20260101",
      "date +%Y%m%d",
      "hwclock --show",
      "chronyc tracking",
      "ntpdate -q pool.ntp.org",
      "w32tm /query /status",
    ],
  }),
];
