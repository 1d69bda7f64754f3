import type { Family } from "../family.ts";

/** Programs that run a command on many machines. */
export const FLEETS: readonly Family[] = [
  {
    names: ["pdsh", "clush", "pssh", "parallel-ssh", "dsh"],
    wrappers: [{ short: "wgxlftuhHAoeOp", long: "host hosts user", mode: "shell" }],
  },
  { names: ["ansible"], runs: ["-a", "--args"] },
  {
    names: ["salt", "salt-ssh"],
    wrappers: [{
      short: "tbcuap",
      long: "timeout batch batch-size config-dir out output out-file username password auth",
      skip: 2,
      mode: "shell",
    }],
  },
  {
    names: ["knife"],
    wrappers: [{ verbs: "ssh", short: "aCxiGpP", skip: 1, mode: "shell" }],
  },
  { names: ["nomad"], wrappers: [{ verbs: "alloc exec", skip: 1 }] },
];
