import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { existsSync } from "node:fs";
import manifest from "../../deno.json" with { type: "json" };
import { parseConfig } from "../../core/context/config.ts";
import { unreadVariables } from "../../core/context/unread_variables.ts";
import { commandFault } from "./command_names.ts";
import { type Block, BLOCKS, PAGES } from "./blocks.ts";
import { curlRequest, requestFault } from "./requests.ts";
import { commandsOf } from "./shell.ts";

const ROOT = new URL("../../", import.meta.url);
/** The first word of a line of a block without a language that holds commands. */
const PROGRAMS =
  /^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:relay|curl|deno|docker|export|useradd|systemctl|mkdir|gh|ip)\b/m;
/** Variables of the reader's own programs, and a misspelt one. */
const OTHER_VARIABLES = ["RELAY_KEY", "RELAY_PROT"];

/** Whether a block holds shell commands. */
const isShell = ({ language, text }: Block): boolean =>
  language === "sh" || language === "" && PROGRAMS.test(text.split("\n")[0]!);
const textOf = ({ text }: Block): string =>
  // The output of a command that is shown behind a prompt.
  text.startsWith("$ ") ? text.slice(2, text.indexOf("\n")) : text;
const at = ({ page, line }: Block) => `docs/${page}:${line}`;

/** The commands of all pages: those of blocks, and those that stand in a sentence. */
const commands: [where: string, words: string[]][] = [
  ...BLOCKS.filter(isShell).flatMap((block) =>
    commandsOf(textOf(block).replaceAll("$EMAIL", "a@example.com")).map((
      words,
    ): [string, string[]] => [at(block), words])
  ),
  ...[...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(/`((?:relay|deno task) [^`]+)`/g)].flatMap(([, line]) =>
      commandsOf(line!.replaceAll("…", "").replaceAll(/\[[^\]]*\]/g, ""))
        .map((words): [string, string[]] => [`docs/${page}`, words])
    )
  ),
];
const wordsOf = (program: string) =>
  commands.filter(([, [name]]) => name === program)
    .map(([where, words]): [string, string[]] => [where, words.slice(1)]);

Deno.test("docs/: every command of Relay exists, with its options", async () => {
  const own = wordsOf("relay");
  ok(own.length > 200, `${own.length}`);
  const faults: string[] = [];
  for (const [where, words] of own) {
    if (words[0] === "PLACEHOLDER") continue;
    const fault = await commandFault(words);
    if (fault !== null) faults.push(`${where}: relay ${words.join(" ")}: ${fault}`);
  }
  deq(faults, []);
});

Deno.test("docs/: every task exists", () => {
  const tasks = wordsOf("deno").filter(([, [word]]) => word === "task");
  ok(tasks.length > 10);
  deq(tasks.filter(([, [, name]]) => !Object.hasOwn(manifest.tasks, name!)), []);
});

Deno.test("docs/: every variable is one that a program of Relay reads", () => {
  const named = [...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(/\bRELAY_[A-Z][A-Z_]*[A-Z]\b/g)].map(([name]) => [page, name] as const)
  );
  ok(named.length > 100);
  deq(
    named.filter(([, name]) =>
      !OTHER_VARIABLES.includes(name) && unreadVariables({ [name]: "x" }).length > 0
    ),
    [],
  );
});

Deno.test("docs/: every configuration is one that the relay accepts", () => {
  const given = [...PAGES.values()].flatMap((text) =>
    [...text.matchAll(/RELAY_CONFIG='(\{.*\})'/g)].map(([, json]) => json!)
  );
  ok(given.length >= 2);
  for (const json of given) parseConfig(json);
});

Deno.test("docs/: every request of a command has an endpoint, which takes its query and its body", () => {
  const shown = commands.filter(([, words]) =>
    words[0] === "curl" && !/api\.telegram\.org|\$RELEASE/.test(words.join(" "))
  );
  ok(shown.length > 15);
  deq(
    shown.map(([where, words]) => [where, requestFault(curlRequest(words))])
      .filter(([, fault]) => fault !== null),
    [],
  );
});

Deno.test("docs/: every method and path in a sentence or a table is an endpoint", () => {
  const pattern = /(?:`|^)(GET|POST|PUT|PATCH|DELETE) +(\/[^\s`]*)(?: +(\{"[^`\n]*\}))?/gm;
  const named = [...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(pattern)].map(([, method, address, body]) => ({
      page,
      method: method!,
      address: address!.replaceAll(/<[^>]*>|…/g, "x"),
      ...(body !== undefined && { body }),
    }))
  );
  ok(named.length > 100, `${named.length}`);
  deq(
    named.map((each) => [each.page, requestFault(each)]).filter(([, fault]) => fault !== null),
    [],
  );
});

Deno.test("docs/: every file of deploy/ that a page names exists", () => {
  const named = [...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(/\bdeploy\/[\w./-]*\w/g)].map(([path]) => [page, path] as const)
  );
  ok(named.length > 10);
  deq(named.filter(([, path]) => !existsSync(new URL(path, ROOT))), []);
});
