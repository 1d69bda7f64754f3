import { z } from "zod";

/** An id field. */
export const id = (of: string) => z.string().describe(`The id of the ${of}.`);

/** A field that names who did something. */
export const actor = (did: string) =>
  z.string().nullable().describe(`Who ${did}: a user or an API key; null for the server itself.`);

/** A field with an instant. */
export const instant = (of: string) => z.iso.datetime().describe(`When ${of}, ISO 8601 in UTC.`);

/** A count or a size. */
export const count = (of: string) => z.int().min(0).describe(`${of}.`);

/** The agents that a request for approval of a fleet command covers. */
export const approvedAgents = count("How many agents it covers; only of a fleet command")
  .optional();

/** The first of those agents. */
export const approvedAgentNames = z.array(z.string()).max(10).optional()
  .describe("The names of the first of them; only of a fleet command.");

/** A duration in milliseconds. */
export const durationMs = z.number().min(0).describe("The duration in milliseconds.");

/** A command, cut when it is long; the digest identifies the whole command. */
export const cutCommand = {
  command: z.string().describe("The command line as requested."),
  command_truncated: z.literal(true).optional().describe("Present when `command` was cut."),
  command_sha256: z.hex().optional().describe("The SHA-256 of the whole command, when it was cut."),
};

const sha256 = (of: string) =>
  z.hex().optional().describe(`The SHA-256 of ${of}; absent when it is empty.`);

/** An agent's signed receipt for a result. */
export const receipt = z.strictObject({
  signature: z.string().describe("The agent's Ed25519 signature over this result, base64url."),
  stdout_sha256: sha256("stdout"),
  stderr_sha256: sha256("stderr"),
  verdict: z.string().describe("The nonce of the signed verdict that allowed it."),
}).describe("The agent's signed receipt.");

/** The fields of every event about the end of a command. */
export const ranCommand = {
  command_id: id("command"),
  parent_id: id("fleet command that it belongs to").optional(),
  ...cutCommand,
  exit_code: z.int().nullable().describe("Null when a signal ended it, or it is unknown."),
  signal: z.string().nullable().describe("The signal that ended it, such as `SIGKILL`."),
  duration_ms: durationMs.nullable(),
  timeout_ms: z.int().min(1).describe("The timeout, in milliseconds."),
  truncated: z.boolean().describe("True when some output was not kept."),
  output_bytes: z.int().min(0).describe("The bytes of output kept; the output itself is not sent."),
  policy_version: z.string().describe("The version of the policy that allowed it."),
  user: actor("asked for the command"),
};

/** An example of a command's end. */
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
