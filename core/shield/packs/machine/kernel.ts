import { hasFlag, operands, optionValues, wordsOf } from "../../programs/arguments.ts";
import { changeRule, type Test } from "../production/change.ts";

/** Whether as many operands stand there: the value to set, and the process. */
const wordsFrom = (count: number): Test => (command) => wordsOf(command).length >= count;

const has = (test: RegExp): Test => ({ args }) => args.some((arg) => test.test(arg));

/** `prlimit --nofile=100 --pid 1`; without a value it prints the limit. */
const LIMIT = /^(?:--(?!pid=|output=)[a-z]+=|-[cdefilmnqrstuvxy]\d)/;

const BMC_VALUED = "-H -U -P -I -L -p -E -R -N -f -k -y -o -t -b -B -T -m -r -u -i";

/** The kernel, how the machine boots, its protections, its hardware, and the limits of processes. */
export const KERNEL_CHANGES = [
  changeRule({
    id: "production.kernel",
    title: "Change the kernel, or what the machine boots",
    changes: [
      { names: "sysctl", needs: "-p --load --system -w --write -f" },
      { names: "kmod", verbs: ["insert|remove|load|unload|static-nodes"] },
      { names: "depmod", passes: "-n --dry-run --show -V" },
      { names: "update-grub2 update-grub-legacy mkinitrd mkinitramfs grub-mkdevicemap zipl lilo" },
      {
        names: "grub-reboot grub2-reboot grub-set-default grub2-set-default grub-bios-setup",
        verbs: ["*"],
      },
      { names: "grub2-editenv grub-editenv", verbs: ["* set|unset|create"] },
      {
        names: "grubby",
        needs:
          "--update-kernel --remove-kernel --add-kernel --set-default --set-default-index --args " +
          "--remove-args --copy-default --set-index",
      },
      {
        names: "bootctl",
        verbs: [
          "install|update|remove|random-seed|set-default|set-oneshot|set-timeout|set-timeout-oneshot",
          "cleanup|unlink",
          "reboot-to-firmware *",
        ],
      },
      {
        names: "efibootmgr",
        needs:
          "--create --create-only --delete-bootnum --bootnext --bootorder --timeout --active " +
          "--inactive --delete-timeout --delete-bootnext --delete-bootorder --remove-dups -a -A -c -C " +
          "-B -n -N -o -O -t -T -D -m",
      },
      { names: "kernel-install", verbs: ["add|remove|add-all"] },
      { names: "udevadm", passes: "-n --dry-run", verbs: ["trigger|control|test-builtin"] },
      { names: "kpatch", verbs: ["load|unload|install|uninstall|replace|force"] },
      {
        names: "canonical-livepatch",
        verbs: ["enable|disable|config|refresh|kernel-upgrade-required"],
      },
      {
        names: "pro ua ubuntu-advantage",
        verbs: ["attach|detach|enable|disable|refresh|fix|auto-attach", "config set|unset"],
      },
      {
        names: "subscription-manager",
        verbs: [
          "register|unregister|attach|remove|clean|refresh|auto-attach",
          "repos|config|release|role *",
        ],
      },
      { names: "subscription-manager", verbs: ["repos"], needs: "--enable --disable" },
      {
        names: "bpftool",
        verbs: [
          "prog|map|net|cgroup|link load|loadall|attach|detach|pin|create|update|delete|freeze|push|pop",
          "map enqueue|dequeue",
        ],
      },
      { names: "xdp-loader xdp-filter", verbs: ["load|unload|clean|port|ip|ether"] },
      { names: "setpci", when: has(/=/) },
      { names: "nvram", when: has(/=|^-[dcm]$/) },
      { names: "wrmsr", verbs: ["* *"] },
      {
        names: "nvidia-smi",
        needs: "-pl -pm -r --gpu-reset -lgc -rgc -lmc -rmc -e -c -mig -ac -rac -am -caa -p " +
          "--power-limit --persistence-mode --compute-mode --ecc-config --lock-gpu-clocks " +
          "--applications-clocks --multi-instance-gpu --reset-ecc-errors",
      },
      {
        names: "nvidia-smi",
        verbs: ["drain|mig|vgpu|boost-slider *"],
        needs: "-cgi -dgi -cci -dci -m -p -r",
      },
      { names: "rocm-smi", when: has(/^--(?:set|reset|load)/) },
      {
        names: "chcpu",
        needs: "-e -d -r -c -g -p --enable --disable --rescan --configure --deconfigure --dispatch",
      },
      { names: "chmem", needs: "-e -d --enable --disable" },
      {
        names: "cpupower",
        verbs: ["frequency-set|idle-set|set"],
      },
      {
        names: "cpufreq-set x86_energy_perf_policy",
        when: ({ args }) => args.length > 0,
      },
      { names: "powertop", needs: "--auto-tune --calibrate" },
      {
        names: "ipmitool",
        valued: BMC_VALUED,
        verbs: [
          "power|chassis on|off|cycle|reset|soft|diag|up|down",
          "chassis bootdev|bootparam|policy|poh",
          "chassis power on|off|cycle|reset|soft|diag",
          "sel clear|delete|add|set",
          "lan|user|session|sol set|enable|disable|priv|activate|close",
          "mc reset|setenables|set",
          "channel setaccess|setkg",
          "raw|hpm|ekanalyzer|exec|i2c *",
          "!raw 0x06 0x01|0x37|0x08",
          "fru edit|write|upgEkey",
          "sensor|sdr thresh|fill",
        ],
      },
      {
        names: "ipmipower bmc-config",
        needs: "--on --off --cycle --reset --soft -n -f -c -r --commit",
      },
      {
        names: "racadm",
        valued: "-r -u -p -i",
        verbs: [
          "set|serveraction|racreset|racresetcfg|config|update|fwupdate|clrsel|systemerase",
          "jobqueue create|delete",
          "storage|raid createvd|deletevd|resetconfig|converttoraid|converttononraid",
        ],
      },
      { names: "hponcfg", needs: "-f -i -r" },
    ],
    explanation:
      "It changes the running kernel, the hardware's settings or what the machine boots.",
    safer: "Put it into configuration, have it reviewed, and keep somebody at the console.",
    hits: [
      "sysctl -p",
      "sysctl --system",
      "grub2-set-default 0",
      "bootctl update",
      "efibootmgr --bootnext 0001",
      "udevadm control --reload",
      "nvidia-smi -pl 200",
      "ipmitool -H bmc1 -U admin chassis bootdev pxe",
      "bpftool map update id 1 key 0 value 1",
    ],
    misses: [
      "sysctl -a",
      "sysctl -n vm.swappiness",
      "bootctl status",
      "efibootmgr -v",
      "udevadm info /dev/sda",
      "nvidia-smi -q",
      "ipmitool -H bmc1 -U admin sel list",
      "bpftool prog show",
      "depmod -n",
    ],
  }),
  changeRule({
    id: "production.protection",
    title: "Change what the machine forbids or records",
    changes: [
      { names: "setenforce setsebool togglesebool", verbs: ["*"] },
      {
        names: "semanage",
        passes: "-l --list -E --extract",
        needs: "-a -d -m -D --add --delete --modify --deleteall -f",
      },
      { names: "semanage", verbs: ["import"] },
      {
        names: "semodule",
        passes: "-l --list-modules --list",
        needs:
          "-i -r -u -e -d -B -D -b -X --install --remove --enable --disable --build --disable_dontaudit",
      },
      { names: "restorecon setfiles", passes: "-n", when: ({ args }) => args.length > 0 },
      { names: "chcon", verbs: ["*"] },
      { names: "fixfiles", verbs: ["relabel|restore|onboot"] },
      { names: "fixfiles", needs: "-F -B", verbs: ["restore|relabel|onboot"] },
      {
        names: "aa-enforce aa-complain aa-disable aa-audit aa-autodep aa-genprof aa-logprof " +
          "aa-cleanprof aa-mergeprof aa-remove-unknown",
      },
      {
        names: "apparmor_parser",
        passes: "-Q --skip-kernel-load -N --names -p --preprocess -S --stdout",
        when: ({ args }) => args.length > 0,
      },
      {
        names: "auditctl",
        passes: "-l -s -v",
        needs: "-a -A -d -D -w -W -e -f -r -b -R -c --reset-lost --loginuid-immutable " +
          "--backlog_wait_time --signal",
      },
      { names: "update-crypto-policies", when: has(/^--set$/) },
      { names: "fips-mode-setup", needs: "--enable --disable" },
      {
        names: "update-alternatives alternatives",
        when: ({ args }) =>
          args.some((arg) => /^--(?:set|install|remove|auto|all|add-slave)/.test(arg)) &&
          !args.some((arg) => /^(?:editor|pager|vi|vim|view)$/.test(arg)),
      },
      {
        names: "dpkg-divert dpkg-statoverride",
        passes: "--test --list",
        needs: "--add --remove --rename",
      },
      { names: "augenrules", needs: "--load" },
      { names: "accton", when: ({ args }) => args.length > 0 },
      { names: "aide", needs: "--init --update -i -u" },
      { names: "tripwire", needs: "--init --update" },
      { names: "falconctl", needs: "-s -d -u --set", passes: "-g" },
      {
        names: "usbguard",
        verbs: [
          "allow-device|block-device|reject-device|append-rule|remove-rule|set-parameter|add-user|remove-user",
        ],
      },
    ],
    explanation: "It changes what the machine forbids, allows or records.",
    safer: "Look at the present state first: getenforce, semanage … -l, auditctl -l.",
    hits: [
      "setsebool -P httpd_can_network_connect on",
      "semanage port -a -t http_port_t -p tcp 8080",
      "semodule -i local.pp",
      "restorecon -R /srv",
      "auditctl -w /etc/passwd -p wa",
      "aa-enforce /etc/apparmor.d/usr.sbin.mysqld",
    ],
    misses: [
      "getsebool -a",
      "semanage port -l",
      "semodule -l",
      "restorecon -nv /srv",
      "auditctl -l",
      "aa-status",
      "getenforce",
    ],
  }),
  changeRule({
    id: "production.limits",
    title: "Change the priority or the limits of a running process",
    changes: [
      { names: "renice snice", verbs: ["*"] },
      { names: "renice snice", when: has(/^[+-]\d/) },
      {
        names: "ionice",
        needs: "-p -P -u --pid --pgid --uid",
        when: (command) => hasFlag(command, "cn", "class", "classdata"),
      },
      {
        names: "taskset",
        when: (command) => hasFlag(command, "p", "pid") && wordsOf(command).length > 1,
      },
      {
        names: "chrt uclampset",
        when: (command) => hasFlag(command, "p", "pid") && operands(command).length > 1,
      },
      {
        names: "uclampset",
        when: (command) => hasFlag(command, "pa", "pid") && hasFlag(command, "mM"),
      },
      { names: "prlimit", needs: "-p --pid", when: has(LIMIT) },
      {
        names: "prlimit",
        when: (command) => has(LIMIT)(command) && has(/^(?:-p\d|--pid=)/)(command),
      },
      { names: "cpulimit", needs: "-p --pid" },
      { names: "choom", needs: "-p --pid", when: (command) => hasFlag(command, "n", "adjust") },
      { names: "cgset cgcreate cgdelete cgclassify cgclear cgconfigparser", passes: "--help" },
      { names: "schedtool", when: wordsFrom(1), needs: "-n -a -B -N -F -R -I -D -e" },
      { names: "numactl", needs: "--shm --file --touch" },
      {
        names: "loginctl",
        verbs: [
          "kill-session|kill-user|terminate-session|terminate-user|terminate-seat|lock-session",
          "lock-sessions|unlock-session|unlock-sessions|disable-linger|activate|attach|flush-devices",
        ],
      },
      { names: "tskill", verbs: ["*"] },
      { names: "criu", verbs: ["dump|pre-dump|restore"] },
      { names: "coredumpctl", verbs: ["dump|gdb|debug"] },
      {
        names: "gdb lldb",
        needs: "-p --pid --attach-pid",
        when: (command) =>
          optionValues(command, "-ex", "--ex", "-o", "--eval-command").some((text) =>
            /^\s*(?:call|print|p|expr|set|jump|kill|signal|return|expression)\b.*[(=]|^\s*(?:kill|signal)/
              .test(text)
          ),
      },
    ],
    explanation: "It changes what a running process may use, or ends somebody's session.",
    safer: "Put it into the service's unit: Nice=, CPUAffinity=, LimitNOFILE=.",
    hits: [
      "renice -n 10 -p 1234",
      "ionice -c3 -p 1234",
      "taskset -cp 0-3 1234",
      "chrt -f -p 99 1234",
      "prlimit --pid 1234 --nofile=65535",
      "cgset -r cpu.shares=512 web",
      "loginctl terminate-session 3",
    ],
    misses: [
      "ionice -c3 tar czf x.tgz src",
      "ionice -p 1234",
      "taskset -p 1234",
      "taskset -c 0 make",
      "chrt -p 1234",
      "prlimit --pid 1234",
      "loginctl list-sessions",
      "gdb -p 1234 -batch -ex bt",
    ],
  }),
];
