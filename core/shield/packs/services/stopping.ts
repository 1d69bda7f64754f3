import type { SimpleCommand } from "../../model.ts";
import { hasFlag, operands } from "../../programs/arguments.ts";

const CRITICAL = [
  "ssh",
  "sshd",
  "network",
  "networkmanager",
  "systemd-networkd",
  "firewalld",
  "ufw",
  "docker",
  "containerd",
  "kubelet",
  "auditd",
  "rsyslog",
  "systemd-journald",
  "postgresql",
  "postgres",
  "dockerd",
  "mysql",
  "mysqld",
  "systemd",
  "init",
  "mariadb",
  "dbus",
  "cron",
  "crond",
  "fail2ban",
  "falco",
  "crowdstrike",
  "falcon-sensor",
  "etcd",
  "systemd-resolved",
  "apparmor",
  "wazuh-agent",
  "osqueryd",
  "lsass",
  "csrss",
  "wininit",
  "winlogon",
  "svchost",
  "windefend",
  "msmpeng",
  "mpssvc",
  "eventlog",
  "sysmon",
];

/** Whether the machine cannot be reached, watched or used without this service. */
export function isCritical(unit: string): boolean {
  const bare = unit.toLowerCase().split(".", 1)[0] ?? "";
  return CRITICAL.includes(bare) || unit.includes("*");
}

const STOPS = new Set([
  "stop",
  "disable",
  "mask",
  "kill",
  "isolate",
  "unload",
  "bootout",
  "remove",
  "delete",
  "off",
]);

/** The unit that a service manager is told to stop or disable, a critical one first; null for none. */
export function stopsService(command: SimpleCommand, words: readonly string[]): string | null {
  switch (command.name) {
    case "service":
    case "rc-service":
      return STOPS.has(words[1] ?? "") ? words[0] ?? "" : null;
    case "chkconfig":
    case "update-rc.d":
    case "rc-update":
      return words.some((word) => STOPS.has(word) || word === "del") ? words[0] ?? "" : null;
    case "systemctl":
      return hasFlag(command, "", "user") && !hasFlag(command, "", "system")
        ? null
        : stoppedUnit(systemctlWords(command));
    case "stop-service":
      return words[0] ?? "";
    default:
      return stoppedUnit(words);
  }
}

function stoppedUnit([verb = "", ...units]: readonly string[]): string | null {
  return STOPS.has(verb) ? units.find(isCritical) ?? units[0] ?? "" : null;
}

/** The verb of `systemctl` and its units; options before it may name another machine. */
export const systemctlWords = (command: SimpleCommand): readonly string[] =>
  operands(command, SYSTEMCTL_VALUED);

const SYSTEMCTL_VALUED: ReadonlySet<string> = new Set(
  [
    "-H",
    "--host",
    "-M",
    "--machine",
    "--root",
    "--image",
    "-s",
    "--signal",
    "-t",
    "-p",
    "-n",
    "-o",
  ],
);

/** The programs that stop services. */
export const MANAGERS = [
  "systemctl",
  "service",
  "rc-service",
  "chkconfig",
  "update-rc.d",
  "rc-update",
  "launchctl",
  "initctl",
  "sc",
  "sv",
  "supervisorctl",
  "rcctl",
  "monit",
  "pm2",
  "stop-service",
];
