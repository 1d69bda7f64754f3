import type { Family } from "../family.ts";
import { printsSettings } from "../flows.ts";

/** Virtual machines, devices, and shells of another system on this machine. */
export const MACHINES: readonly Family[] = [
  {
    names: ["vagrant"],
    wrappers: [{ verbs: "ssh", mode: "shell" }],
    runs: ["-c", "--command"],
  },
  { names: ["multipass", "pct"], wrappers: [{ verbs: "exec", skip: 1 }] },
  { names: ["limactl"], wrappers: [{ verbs: "shell", skip: 1 }] },
  {
    names: ["minikube"],
    wrappers: [{ verbs: "ssh", short: "pn", mode: "shell" }],
    prints: printsSettings,
  },
  { names: ["colima"], wrappers: [{ verbs: "ssh", short: "pn", mode: "shell" }] },
  {
    names: ["docker-machine"],
    wrappers: [{ verbs: "ssh", skip: 1, mode: "shell" }],
    prints: printsSettings,
  },
  {
    names: ["machinectl"],
    wrappers: [{ verbs: "shell", short: "EM", long: "uid setenv machine", skip: 1 }],
  },
  { names: ["distrobox"], wrappers: [{ verbs: "enter", short: "n", long: "name" }] },
  {
    names: ["toolbox"],
    wrappers: [
      { verbs: "enter", short: "n", long: "name" },
      { verbs: "run", short: "c", long: "container" },
    ],
    runs: ["-c", "--command"],
  },
  {
    names: ["flatpak-spawn", "wsl"],
    wrappers: [{ short: "du", long: "distribution user cd env directory" }],
  },
  { names: ["adb"], wrappers: [{ verbs: "shell", short: "sHPt", mode: "shell" }] },
  { names: ["start", "winrs"], wrappers: [{ mode: "shell" }] },
  { names: ["psexec", "psexec64", "paexec"], wrappers: [{ short: "upwrna", skip: 1 }] },
];
