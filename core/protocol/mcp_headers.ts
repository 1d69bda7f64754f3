/**
 * The member of `params` that the header `Mcp-Name` repeats, by method, since revision 2026-07-28 of the Model Context
 * Protocol. The relay checks the header; `relay mcp` sets it.
 */
export const MCP_NAME_MEMBERS: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};
