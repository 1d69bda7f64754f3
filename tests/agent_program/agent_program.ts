import { agentCommand } from "../../core/cli/agent/cli.ts";

// `relay agent` as a process of its own.
Deno.exit(await agentCommand(Deno.args));
