import { z } from "zod";
import { stageMessage } from "../../kv/instances/inbox.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Ports } from "../ports/ports.ts";

const tenant = z.strictObject({ org: z.string(), space: z.enum(["live", "test"]) });

/** Messages between instances. A message only names records; their contents are in the store. */
export const Message = z.discriminatedUnion("kind", [
  /** A command is queued for an agent that is linked at the receiver. */
  z.strictObject({
    kind: z.literal("queued"),
    tenant,
    command_id: z.string(),
    agent_id: z.string(),
  }),
  /** Commands of an agent that is linked at the receiver were approved. */
  z.strictObject({ kind: z.literal("approved"), tenant, agent_id: z.string() }),
  /** A caller cancelled a command that runs at the receiver. */
  z.strictObject({ kind: z.literal("cancel"), command_id: z.string(), by: z.string() }),
  /** A fleet command that the receiver drives was cancelled, or a request for its held commands has ended. */
  z.strictObject({ kind: z.literal("fleet_command"), tenant, id: z.string() }),
  /** A command that the receiver waits for has ended. */
  z.strictObject({ kind: z.literal("ended"), tenant, command_id: z.string() }),
  /** An agent has a newer link elsewhere than the receiver's link of this number. */
  z.strictObject({ kind: z.literal("relinked"), tenant, agent_id: z.string(), link: z.int() }),
  /** An agent that is linked at the receiver must restart. */
  z.strictObject({ kind: z.literal("restart"), tenant, agent_id: z.string() }),
  /** A backup or restore of an agent that is linked at the receiver is due. */
  z.strictObject({ kind: z.literal("transfer"), tenant, agent_id: z.string() }),
  /** Another instance wants the state of an agent that is linked at the receiver. */
  z.strictObject({
    kind: z.literal("inspect"),
    tenant,
    agent_id: z.string(),
    id: z.string(),
    reply_to: z.string(),
  }),
  /** The answer to an `inspect`: whether the state is on record. */
  z.strictObject({ kind: z.literal("inspected"), id: z.string(), reached: z.boolean() }),
  /** An MCP session was changed or has ended. */
  z.strictObject({ kind: z.literal("mcp_session"), id: z.string() }),
  /** A client cancelled a call of its MCP session, which may be under way at the receiver. */
  z.strictObject({ kind: z.literal("mcp_cancel"), call: z.string() }),
  /**
   * The instance `to` wants the output of a command that runs at the receiver, from an offset on: what there is, and
   * unless `once`, also what follows. It repeats this while it reads.
   */
  z.strictObject({
    kind: z.literal("follow"),
    tenant,
    command_id: z.string(),
    id: z.string(),
    to: z.string(),
    from: z.int(),
    once: z.boolean(),
  }),
  /** Output has come for the receiver's `follow` of this id. */
  z.strictObject({ kind: z.literal("output"), id: z.string() }),
  /** The instance `at` has open streams, so it wants to hear of started commands for a while. */
  z.strictObject({ kind: z.literal("streams_open"), at: z.string() }),
  /** Commands were sent to their agents. */
  z.strictObject({
    kind: z.literal("commands_started"),
    starts: z.array(z.strictObject({
      tenant,
      command: z.strictObject({
        id: z.string(),
        agent_id: z.string(),
        actor: z.string(),
        thread: z.string().optional(),
        started_at_ms: z.number().nullable(),
      }),
    })),
  }),
  /** Attempts of deliveries of these webhooks ended. */
  z.strictObject({
    kind: z.literal("deliveries_attempted"),
    webhooks: z.array(z.strictObject({ tenant, webhook_id: z.string() })),
  }),
  /** The labels of an agent that is linked at the receiver have changed. */
  z.strictObject({ kind: z.literal("relabelled"), tenant, agent_id: z.string() }),
  /** An agent was deleted. */
  z.strictObject({ kind: z.literal("agent_deleted"), tenant, agent_id: z.string() }),
  /** Other policies are in force for a tenant. */
  z.strictObject({ kind: z.literal("policies_changed"), tenant }),
]);
export type Message = z.infer<typeof Message>;

/** Sends a message to an instance with the commit of `tx`. */
export function sendMessage(
  { entropy }: Pick<Ports, "entropy">,
  tx: Pick<Tx, "stage">,
  to: string,
  message: Message,
): void {
  stageMessage(tx, to, entropy.id("msg"), message);
}

/** Parses a message. Null for a kind that only newer versions know; sweeps make up for it. */
export const readMessage = (value: unknown): Message | null =>
  Message.safeParse(value).data ?? null;
