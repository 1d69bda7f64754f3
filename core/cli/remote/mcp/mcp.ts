import { UsageError } from "../../arguments.ts";
import type { Run } from "../command.ts";
import { NotSignedInError } from "../target.ts";
import { Endpoint } from "./endpoint.ts";
import { Proxy } from "./proxy.ts";

const SETS = ["common", "all"];

/** `relay mcp` */
export const mcp: Run = async ({ text, host, out, target }) => {
  const tools = text("tools") ?? "common";
  if (!SETS.includes(tools)) {
    throw new UsageError(`The tools ${JSON.stringify(tools)} are not one of ${SETS.join(", ")}.`);
  }
  const found = target();
  // A relay that is away may come back; a session that has ended does not.
  await found.token().catch((error) => {
    if (error instanceof NotSignedInError) throw error;
  });
  if (host.interactive) {
    await out.note(
      "This command is for MCP clients, which start it: see docs/mcp.md. Waiting for messages.",
    );
  }
  const endpoint = new Endpoint(found, tools, host);
  await new Proxy(endpoint, host, (line) => out.note(line)).run(host.input());
};
