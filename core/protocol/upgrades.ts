import { z } from "zod";
import { jobId, sha256, whole } from "./transfers.ts";

/** The frames of `relay.agent.v1` that replace an agent's program. Its pieces travel like those of a restore. */

/** The largest program, in bytes: an executable with its runtime takes about 100 MB. */
const MAX_PROGRAM_BYTES = 256 * 1024 * 1024;
/** The platform of a program that runs on all of them. */
export const ANY_PLATFORM = "any";

/** How a program is installed: as an executable, as one file for Deno, or from source. */
export const programForm = z.enum(["executable", "bundle", "source"]);
export type ProgramForm = z.infer<typeof programForm>;

/** What an agent tells about its program. */
export const programFacts = z.object({
  form: programForm,
  /** The upgrade that brought the program; absent for the installed one. */
  upgrade: jobId.optional(),
  /** The last upgrade whose program did not come back, or later failed to start, and why. */
  failed: z.object({ job_id: jobId, message: whole(512) }).optional(),
});
export type ProgramFacts = z.infer<typeof programFacts>;

/** The relay orders the agent to replace its program. */
export const upgradeFrame = z.object({
  type: z.literal("upgrade"),
  /** Counts these frames on this link; a number that is not above the last one is a replay. */
  serial: z.int().min(1),
  /** On the relay's clock. */
  expires_at_ms: z.int().min(1),
  job_id: jobId,
  version: z.string().regex(/^[0-9A-Za-z.+-]{1,64}$/),
  platform: z.string().regex(/^[0-9a-z_-]{1,64}$/),
  sha256,
  bytes: z.int().min(1).max(MAX_PROGRAM_BYTES),
  /** By the verdict key, over `upgradeText`. */
  signature: z.string().max(128).default(""),
});
export type UpgradeFrame = z.infer<typeof upgradeFrame>;

/** The agent has the whole program, and is about to start it. */
export const upgradeReadyFrame = z.object({ type: z.literal("upgrade_ready"), job_id: jobId });
