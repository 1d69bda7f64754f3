import type { Family } from "../family.ts";
import { printsNothing } from "../flows.ts";
import { commandTexts } from "../texts.ts";

const inNamespace = { short: "nbf", long: "netns batch family", skip: 1 };

/** Programs that run others with another priority, limit, lock or loader. */
export const PROCESSES: readonly Family[] = [
  { names: ["nice", "gnice"], wrappers: [{ short: "n", long: "adjustment" }] },
  { names: ["ionice"], wrappers: [{ short: "cnpPu", long: "class classdata" }] },
  {
    names: ["timeout", "gtimeout"],
    wrappers: [{ short: "ks", long: "kill-after signal", skip: 1 }],
  },
  { names: ["time", "gtime"], wrappers: [{ short: "fo", long: "format output" }] },
  { names: ["stdbuf", "gstdbuf"], wrappers: [{ short: "ioe", long: "input output error" }] },
  {
    names: [
      "busybox",
      "catatonit",
      "chronic",
      "dbus-launch",
      "dbus-run-session",
      "dumb-init",
      "eatmydata",
      "gnohup",
      "i386",
      "ifne",
      "multitime",
      "nohup",
      "pexec",
      "setsid",
      "tini",
      "torify",
      "torsocks",
      "toybox",
      "tsocks",
      "x86_64",
      "xtables-legacy-multi",
      "xtables-multi",
      "xtables-nft-multi",
    ],
    wrappers: [{}],
  },
  { names: ["sleep"], prints: printsNothing },
  { names: ["choom"], wrappers: [{ short: "np", long: "adjust pid" }] },
  {
    names: ["ld.so"],
    wrappers: [{
      long: "library-path preload audit argv0 inhibit-rpath glibc-hwcaps-prepend glibc-hwcaps-mask",
    }],
  },
  {
    names: ["ip"],
    wrappers: [{ ...inNamespace, verbs: "netns exec" }, { ...inNamespace, verbs: "vrf exec" }],
  },
  {
    names: ["chrt", "uclampset"],
    wrappers: [{ short: "TPD", long: "sched-runtime sched-period sched-deadline", skip: 1 }],
  },
  { names: ["logsave", "taskset"], wrappers: [{ skip: 1 }] },
  { names: ["xdotool"], wrappers: [{ verbs: "exec" }] },
  {
    names: ["numactl"],
    wrappers: [{
      short: "iCNmpPwl",
      long: "interleave cpunodebind membind physcpubind preferred",
    }],
  },
  { names: ["cpulimit"], wrappers: [{ short: "lpe", long: "limit pid exe" }] },
  { names: ["prlimit"], wrappers: [{ short: "po", long: "pid output" }] },
  { names: ["cgexec"], wrappers: [{ short: "g" }] },
  { names: ["arch", "envdir", "faketime", "s6-envdir"], wrappers: [{ skip: 1 }] },
  { names: ["proxychains", "proxychains4"], wrappers: [{ short: "f" }] },
  { names: ["caffeinate"], wrappers: [{ short: "tw" }] },
  { names: ["trickle"], wrappers: [{ short: "dutslLpn" }] },
  {
    names: ["flock"],
    wrappers: [{ short: "wE", long: "timeout conflict-exit-code", skip: 1 }],
    runs: commandTexts,
  },
  {
    names: ["watch"],
    wrappers: [{ short: "nq", long: "interval equexit", mode: "shell" }],
  },
];
