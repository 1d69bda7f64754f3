import { quoteWord } from "../../interpreter/inner.ts";
import { optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { afterFirst, afterOption } from "../texts.ts";

/** Service managers and job queues, which run programs in the background. */
export const DAEMONS: readonly Family[] = [
  {
    names: ["systemd-run"],
    wrappers: [{
      short: "pHMuE",
      long:
        "unit property uid gid slice setenv working-directory on-active on-boot on-startup on-unit-active on-unit-inactive on-calendar timer-property path-property socket-property service-type description host machine nice",
    }],
    runs: (command) =>
      optionValues(command, "-p", "--property").flatMap((value) =>
        value.startsWith("Exec") ? [afterFirst(value, "=").replace(/^[-@:+!]+/, "")] : []
      ),
  },
  {
    names: ["systemd-run"],
    writes: (command) =>
      optionValues(command, "-p", "--property").flatMap((value) =>
        /^Standard(?:Output|Error)=(?:file|append|truncate):(.*)/.exec(value)?.[1] ?? []
      ),
  },
  {
    names: ["systemd-cat"],
    wrappers: [{
      short: "tp",
      long: "identifier priority stderr-priority level-prefix namespace",
    }],
  },
  { names: ["systemd-inhibit"], wrappers: [{ long: "what who why mode" }] },
  {
    names: ["start-stop-daemon"],
    runs: (command) =>
      optionValues(command, "--exec", "-x", "--startas", "-a").map((program) =>
        `${quoteWord(program)} ${afterOption(command, "--")}`
      ),
  },
  {
    names: ["launchctl"],
    wrappers: [{ verbs: "asuser", skip: 1 }, { verbs: "bsexec", skip: 1 }, {
      verbs: "submit",
      short: "lpoe",
    }],
  },
  { names: ["daemon", "nq", "tsp"], wrappers: [{}] },
  { names: ["daemonize"], wrappers: [{ short: "acepulo" }] },
  {
    names: ["pueue"],
    wrappers: [{
      verbs: "add",
      short: "gwa",
      long: "group working-directory after",
      mode: "shell",
    }],
  },
];
