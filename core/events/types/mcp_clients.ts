import { z } from "zod";
import { event } from "./event.ts";

const client = z.string().describe("The name that the client gave itself.");
const redirect_uri = z.string().describe("The address to which the browser returned.");
const address = z.string().describe("The network address that the request came from.");

const example = { client: "Assistant", address: "192.0.2.17" };
const redirectExample = "https://assistant.example/callback";

/** MCP clients that act for people. */
export const mcpClientEvents = {
  mcp_client_approved: event({
    meaning: "a user let an MCP client act for them",
    details: z.strictObject({
      client,
      client_id: z.string().describe(
        "The client's id: its registration, or the address of its metadata.",
      ),
      redirect_uri,
      scopes: z.array(z.string()).describe("The rights that its tokens are limited to."),
      space: z.enum(["live", "test"]).describe("The space that it works in."),
      address,
    }),
    example: {
      ...example,
      client_id: "https://assistant.example/client.json",
      redirect_uri: redirectExample,
      scopes: ["agents:read"],
      space: "live",
    },
  }),
  mcp_client_refused: event({
    meaning: "a user refused to let an MCP client act for them",
    result: "denied",
    details: z.strictObject({ client, redirect_uri, address }),
    example: { ...example, redirect_uri: redirectExample },
  }),
  mcp_client_connected: event({
    meaning: "an MCP client exchanged its code for tokens",
    details: z.strictObject({ client, address }),
    example,
  }),
  mcp_client_refreshed: event({
    meaning: "an MCP client refreshed its tokens",
    details: z.strictObject({ client, address }),
    example,
  }),
  mcp_client_ended: event({
    meaning: "an MCP client's tokens were ended",
    details: z.strictObject({
      client,
      address,
      reason: z.enum(["by_user", "by_client", "surplus", "code_reused", "refresh_token_reused"])
        .describe(
          "Who ended them, that the user let too many clients in, or which credential was presented again.",
        ),
    }),
    example: { ...example, reason: "by_user" },
  }),
} as const;
