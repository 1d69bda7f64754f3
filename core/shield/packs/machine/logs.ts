import { hasFlag, operands } from "../../programs/arguments.ts";
import { writtenPaths } from "../../programs/effects.ts";
import { locate, normalizePath } from "../../programs/paths.ts";
import { changeRule, type Test } from "../production/change.ts";

const LOG_PLACES = ["/var/log/", "/var/audit/", "/var/spool/mail/", "/run/log/"];

const isLog = (cwd: string, path: string): boolean => {
  const full = normalizePath(locate(cwd, path));
  return LOG_PLACES.some((start) => full.startsWith(start));
};

const EMPTY = /^(?:if=)?\/dev\/(?:null|zero)$/;

/** `cp /dev/null log`, `tee log < /dev/null`, `mv /var/log/x /tmp`. */
const emptiesLog: Test = (command) => {
  const { cwd, args, stdin, name } = command;
  if (name === "mv") {
    return operands(command).slice(0, -1).some((path) => isLog(cwd, path));
  }
  const isEmpty = name === "tee"
    ? !hasFlag(command, "a", "append") && (stdin?.text ?? "").trim() === ""
    : args.some((arg) => EMPTY.test(arg));
  const paths = name === "tee" ? operands(command) : writtenPaths(command);
  return isEmpty && paths.some((path) => isLog(cwd, path));
};

/** What the machine wrote down. */
export const LOG_CHANGES = [
  changeRule({
    id: "production.logs",
    title: "Rotate, shorten or empty logs",
    changes: [
      {
        names: "journalctl",
        needs: "--vacuum-time --vacuum-size --vacuum-files --rotate --flush --relinquish-var " +
          "--smart-relinquish-var --setup-keys --sync",
      },
      {
        names: "logrotate",
        passes: "-d --debug --version --usage -?",
        when: ({ args }) => args.length > 0,
      },
      { names: "savelog newsyslog", passes: "-n" },
      { names: "syslog-ng-ctl", verbs: ["reload|stop|reopen|verbose|debug|trace"] },
      {
        names: "dmesg",
        needs: "-C -c -n -D -E --clear --read-clear --console-level --console-off --console-on",
      },
      { names: "history", needs: "-c -d" },
      { names: "log", verbs: ["erase|config"], passes: "--status" },
      { names: "cp install dd tee mv", when: emptiesLog },
      {
        names: "limit-eventlog new-eventlog",
        passes: "-whatif -WhatIf -Whatif",
      },
    ],
    explanation: "It takes away or moves what the machine wrote down.",
    safer: "Copy the logs away first; logrotate -d only shows what it would do.",
    hits: [
      "cp /dev/null /var/log/auth.log",
      "logrotate -f /etc/logrotate.conf",
      "journalctl --flush",
      "dmesg --clear",
      "mv /var/log/auth.log /tmp",
      "tee /var/log/syslog < /dev/null",
    ],
    misses: [
      "logrotate -d /etc/logrotate.conf",
      "journalctl -u nginx --since today",
      "dmesg -T",
      "cp /var/log/syslog .",
      "cp /dev/null app.log",
      "make 2>&1 | tee -a /var/log/build.log",
      "history 20",
    ],
  }),
];
