import { OWN_JOB, UNKNOWN } from "../../model.ts";
import { hasFlag, operands, optionValues } from "../../programs/arguments.ts";
import { writtenPaths } from "../../programs/effects.ts";
import { locate, normalizePath } from "../../programs/paths.ts";
import { changeRule, type Test } from "../production/change.ts";

const KILL_VALUED = new Set(["-s", "-n", "-q", "--signal", "--queue", "--timeout"]);
const SIGNAL = /^-(?:SIG)?(?:\d+|[A-Z]+\d*)$/i;
const NO_SIGNAL = /^(?:SIG)?(?:0|EXIT|INFO)$/i;

/** Whether processes that are not the line's own get a signal that does something. */
const signals: Test = (command) => {
  const { args, wrappers } = command;
  if (hasFlag(command, "lL", "list", "table")) return false;
  const [named] = optionValues(command, "-s", "-n", "--signal");
  const short = args[0] !== undefined && SIGNAL.test(args[0]) ? args[0].slice(1) : undefined;
  if (NO_SIGNAL.test(named ?? short ?? "TERM")) return false;
  const rest = named === undefined && short !== undefined ? args.slice(1) : args;
  const targets = rest.filter((arg, at) =>
    arg !== "--" && !KILL_VALUED.has(arg) && !KILL_VALUED.has(rest[at - 1] ?? "")
  ).map((arg) => arg.replace(/^-/, ""));
  // A number may be anybody's own, as is a job that a trap ends.
  return targets.some((target) =>
    target.includes(UNKNOWN) && !target.startsWith(OWN_JOB) &&
    !(target === UNKNOWN && wrappers.includes("trap"))
  );
};

/** Servers and watchers that somebody started for their own work. */
const OWN_TOOLS =
  /\b(?:dev|watch|test|vite|vitest|webpack|next|nuxt|jest|pytest|esbuild|tsc|nodemon|ts-node|storybook|parcel|jekyll|hugo|mkdocs|jupyter|ipython|sleep|dd)\b/;

const NAME_VALUED = new Set(
  "-s --signal -u -U -g -G -P -t -F --pidfile --euid --uid --user --parent --terminal --ns --nslist -O --older"
    .split(" "),
);

/** Whether processes that are found by name, owner or parent get a signal that does something. */
const signalsByName: Test = (command) => {
  if (hasFlag(command, "lV", "list", "version")) return false;
  const [named] = optionValues(
    command,
    ...command.name === "killall" ? ["-s", "--signal"] : ["--signal"],
  );
  const short = command.args.find((arg) => SIGNAL.test(arg) && /[\dA-Z]{2}|^-\d/.test(arg))?.slice(
    1,
  );
  if (NO_SIGNAL.test(named ?? short ?? "TERM")) return false;
  const names = operands(command, NAME_VALUED);
  return !(names.length > 0 && names.every((name) => OWN_TOOLS.test(name)));
};

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

/** Processes of others, and what the machine wrote down. */
export const PROCESS_CHANGES = [
  changeRule({
    id: "production.process",
    title: "End or signal a process of a running machine",
    changes: [
      { names: "kill gkill", when: signals },
      { names: "pkill killall skill", when: signalsByName },
      { names: "fuser", needs: "-k --kill" },
      { names: "taskkill tskill", when: ({ args }) => args.length > 0, passes: "/?" },
      { names: "stop-process spps", passes: "-whatif -WhatIf -Whatif" },
      { names: "xkill", passes: "-version" },
      { names: "reptyr", verbs: ["*"] },
      { names: "criu", verbs: ["dump|restore|pre-dump"] },
    ],
    explanation: "It ends or signals processes that others may rely on.",
    safer: "Look at the process first: ps -fp, and let the service manager restart it.",
    hits: [
      "kill -9 $(pgrep -u postgres -f 'idle in transaction')",
      "lsof -ti tcp:5432 | xargs -r kill",
      "ps aux | awk '/celery/{print $2}' | xargs kill -15",
      'kill -s STOP -- -"$(cat /run/app/app.pid)"',
      "pkill -f gunicorn",
      "while pgrep -x rsync; do pkill -x rsync; sleep 1; done",
      "killall -9 java",
      "fuser -k 8080/tcp",
      "for p in $(pgrep php-fpm); do kill $p; done",
      "taskkill /f /im node.exe",
    ],
    misses: [
      "kill %1",
      "kill -TERM 4321",
      "kill -0 4242 && echo alive",
      "kill -s 0 -- -4242",
      "kill -l",
      'sleep 300 & pid=$!; kill "$pid"',
      "npm start & kill $!",
      "jobs -p | xargs kill",
      "trap 'kill $PID' EXIT",
      "kill $(cat app.pid)",
      "pkill -f 'vite dev'",
      "pkill -0 nginx",
      "fuser -v 8080/tcp",
      "killall -l",
      "pgrep -fa gunicorn",
    ],
  }),
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
        passes: "-d --debug -v? --usage -?",
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
        names: "clear-eventlog remove-eventlog limit-eventlog new-eventlog",
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
