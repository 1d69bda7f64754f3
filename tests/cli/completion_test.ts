import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { completionCommand } from "../../core/cli/completion.ts";

const FIRST = ["agents", "approvals", "exec", "serve"];

async function scriptOf(shell: string): Promise<{ code: number; script: string }> {
  const log = console.log;
  let script = "";
  console.log = (text: string) => script += `${text}\n`;
  try {
    return { code: await completionCommand([shell], FIRST), script };
  } finally {
    console.log = log;
  }
}

/** What bash offers for a line. */
async function offered(...line: readonly string[]): Promise<string[]> {
  const { script } = await scriptOf("bash");
  const words = ["relay", ...line].map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(${words}); COMP_CWORD=${line.length}; _relay; echo "\${COMPREPLY[*]}"`;
  const { stdout } = await new Deno.Command("bash", { args: ["-c", `${script}\n${ask}`] }).output();
  return new TextDecoder().decode(stdout).trim().split(" ");
}

Deno.test("relay completion: bash completes groups, commands and their options", async () => {
  deq(await offered("a"), ["agents", "approvals"]);
  deq(await offered("agents", "r"), ["rm", "restart"]);
  deq(await offered("approvals", ""), ["ls", "show", "approve", "reject"]);
  deq(await offered("agents", "ls", "--st"), ["--status"]);
  deq(await offered("exec", "web-1", "--t"), ["--timeout"]);
  deq(await offered("serve", "--x"), [""]);
});

Deno.test("relay completion: zsh and fish get scripts, another shell is refused", async () => {
  for (const shell of ["zsh", "fish"]) eq((await scriptOf(shell)).code, 0);
  eq(
    (await scriptOf("fish")).script.split("\n").every((line) =>
      /^(complete -c relay |$)/.test(line)
    ),
    true,
  );
  const error = console.error;
  console.error = () => {};
  try {
    eq((await scriptOf("powershell")).code, 2);
    eq((await scriptOf("toString")).code, 2);
  } finally {
    console.error = error;
  }
});
