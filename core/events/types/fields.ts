import { z } from "zod";

/** A field that holds the id of something. */
export const id = (of: string) => z.string().describe(`The id of the ${of}.`);

/** A field that says who did something. */
export const actor = (did: string) =>
  z.string().nullable().describe(`Who ${did}: a user or an API key; null for the server itself.`);

/** A field that says when something is or was. */
export const instant = (of: string) => z.iso.datetime().describe(`When ${of}, ISO 8601 in UTC.`);

/** A count, or a size. */
export const count = (of: string) => z.int().min(0).describe(`${of}.`);

/** How long something took, in milliseconds. */
export const durationMs = z.number().min(0).describe("How long it took, in milliseconds.");

/** A long command is cut in events; what it was in full is told by its digest. */
export const cutCommand = {
  command: z.string().describe("The command line as it was asked for."),
  command_truncated: z.literal(true).optional().describe("There when `command` was cut."),
  command_sha256: z.hex().optional().describe("The SHA-256 of the whole command that was cut."),
};

const sha256 = (of: string) =>
  z.hex().optional().describe(`The SHA-256 of ${of}; not there when it is empty.`);

/** What an agent signed for a result. */
export const receipt = z.strictObject({
  signature: z.string().describe("The agent's Ed25519 signature over this result, base64url."),
  stdout_sha256: sha256("stdout"),
  stderr_sha256: sha256("stderr"),
  verdict: z.string().describe("The nonce of the signed verdict that it ran under."),
}).describe("What the agent signed.");

/** What every end of a command tells. */
export const ranCommand = {
  command_id: id("command"),
  ...cutCommand,
  exit_code: z.int().nullable().describe("Null when a signal ended it, or nobody knows."),
  signal: z.string().nullable().describe("The signal that ended it, such as `SIGKILL`."),
  duration_ms: durationMs.nullable(),
  timeout_ms: z.int().min(1).describe("How long it was allowed to take, in milliseconds."),
  truncated: z.boolean().describe("True when more output came than was kept."),
  output_bytes: z.int().min(0).describe("How much output was kept; it is not sent."),
  policy_version: z.string().describe("The version of the policy that let it pass."),
  user: actor("asked for the command"),
};

/** A command's end as it may come. */
export const ranExample = {
  command_id: "cmd_0m3x7",
  command: "uptime",
  exit_code: 0,
  signal: null,
  duration_ms: 42,
  timeout_ms: 60_000,
  truncated: false,
  output_bytes: 61,
  policy_version: "9f86d081884c7d65",
  user: "usr_0m3x1",
};
