import type { Blast, Irreversibility, Rule } from "../model.ts";

function chain(
  id: string,
  [blast, irreversibility]: readonly [Blast, Irreversibility],
  threat: string,
  explanation: string,
  safer: string,
): Rule {
  return {
    id: `behaviour.${id}`,
    pack: "behaviour",
    commands: [],
    match: () => false,
    blast,
    irreversibility,
    threat,
    explanation,
    safer_alternative: safer,
  };
}

/** A file into which an earlier command put a secret, in clear or encoded, is sent away. */
export const SECRET_LEAVES = chain(
  "secret_leaves",
  [4, 5],
  "data_exfiltration",
  "It sends a file into which an earlier command put keys, tokens or passwords.",
  "Use a secret store, and give the other side its own credential.",
);

/** A dump or an archive that an earlier command made is sent away. */
export const DATA_LEAVES = chain(
  "data_leaves",
  [3, 4],
  "data_exfiltration",
  "It sends a dump or an archive that an earlier command made.",
  "Send the named files that are needed, to a place that your administrators know.",
);

/** A file that an earlier command downloaded is run. */
export const RUNS_DOWNLOAD = chain(
  "runs_download",
  [3, 3],
  "remote_code_execution",
  "It runs a file that an earlier command downloaded.",
  "Let somebody look at its content and checksum, then have the run approved.",
);

/** A file that earlier commands wrote is run, and does harm or cannot be read. */
export const RUNS_WRITTEN = chain(
  "runs_written",
  [2, 4],
  "obfuscation",
  "It runs a file that earlier commands wrote.",
  "Send the commands themselves.",
);

/** After a protection was switched off, somebody settles in or takes something away. */
export const DEFENSES_DOWN = chain(
  "defenses_down",
  [5, 4],
  "defense_evasion",
  "An earlier command took logs or protections down, and this one makes use of that.",
  "Put the protection back first.",
);

/** Chains over the commands of a session; the behaviour layer raises them. */
export const BEHAVIOUR_RULES: readonly Rule[] = [
  SECRET_LEAVES,
  DATA_LEAVES,
  RUNS_DOWNLOAD,
  RUNS_WRITTEN,
  DEFENSES_DOWN,
];
