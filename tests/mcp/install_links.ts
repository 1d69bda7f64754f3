const START = "<!-- from the install links -->";
const END = "<!-- end of the install links -->";
const NAME = "relay";
/** How a client starts the relay's command. */
const PROGRAM = { command: "relay", args: ["mcp"] } as const;
const LINE = [PROGRAM.command, ...PROGRAM.args].join(" ");

/** Base64 of the configuration, as Cursor and LM Studio read it. */
const query = new URLSearchParams({ name: NAME, config: btoa(JSON.stringify(PROGRAM)) });
const forCode = JSON.stringify({ name: NAME, ...PROGRAM });
// Pages may link to https addresses only; this one forwards to `vscode:`.
const toCode = new URLSearchParams({ url: `vscode:mcp/install?${encodeURIComponent(forCode)}` });

/** A link on a line of its own, since it is long. */
const link = (page: string, query: URLSearchParams) => `\n  [install](https://${page}?${query})`;

/** How each client adds the relay: a link, or a command. */
const CLIENTS: readonly (readonly [client: string, how: string])[] = [
  ["Claude Code", ` \`claude mcp add ${NAME} -- ${LINE}\``],
  ["Codex", ` \`codex mcp add ${NAME} -- ${LINE}\``],
  ["Gemini CLI", ` \`gemini mcp add ${NAME} ${LINE}\``],
  [
    "Visual Studio Code",
    `${link("insiders.vscode.dev/redirect", toCode)},\n  or \`code --add-mcp '${forCode}'\``,
  ],
  ["Cursor", link("cursor.com/en/install-mcp", query)],
  ["LM Studio", link("lmstudio.ai/install-mcp", query)],
];

/** The configuration of clients without a link, such as Claude Desktop. */
const CONFIGURATION = JSON.stringify({ mcpServers: { [NAME]: PROGRAM } }, null, 2)
  .replace(/\[\s+("\w+")\s+\]/, "[$1]");

/** The page docs/mcp.md with its install links written anew. */
export function withInstallLinks(page: string): string {
  const [before, rest] = page.split(START);
  const [, after] = rest!.split(END);
  const links = CLIENTS.map(([client, how]) => `- ${client}:${how}`).join("\n");
  const others = "- Claude Desktop (`claude_desktop_config.json`) and others:";
  const block = `\`\`\`json\n${CONFIGURATION}\n\`\`\``.replaceAll(/^/gm, "  ");
  return `${before}${START}\n\n${links}\n${others}\n${block}\n\n${END}${after}`;
}
