import { deepStrictEqual as deq } from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";
import { newCommand } from "../../core/shield/model.ts";
import { readPhrases } from "../../core/shield/packs/phrases.ts";

const PHRASES = readPhrases([
  "tool|other remove|wipe --force",
  "tool --size 0",
  "tool -n|--count=0|none",
  "tool open …0.0.0.0/0…",
  "tool drop-…",
  "tool ….reg",
  "alone",
]);

function says(name: string, ...args: readonly string[]): boolean {
  return PHRASES.matches(newCommand({
    valuedLetters: null,
    name,
    program: name,
    args,
    redirections: [],
    assignments: new Map(),
    cwd: ".",
    stdin: null,
    inputs: null,
    wrappers: [],
    span: { start: 0, end: 0 },
  }));
}

Deno.test("readPhrases: the words of a phrase match in their order, with any others between them", () => {
  deq(PHRASES.names, ["tool", "other", "alone"]);
  const meant = [
    says("tool", "--quiet", "Remove", "x", "--force"),
    says("other", "wipe", "--force"),
    says("tool", "--size=0"),
    says("tool", "--size", "0"),
    says("tool", "--count=3", "--count=0"),
    says("tool", "-n", "none", "x"),
    says("tool", "open", "--to=10.0.0.0/8,0.0.0.0/0"),
    says("tool", "drop-all"),
    says("tool", "x.REG"),
    says("alone"),
  ];
  deq(meant, meant.map(() => true));
  const others = [
    says("tool", "--force", "remove"),
    says("tool", "remove"),
    says("other", "--size", "0"),
    says("tool", "--size", "10"),
    says("tool", "--count", "3", "0"),
    says("tool", "0", "-n"),
    says("tool", "open", "10.0.0.0/8"),
    says("tool", "drop"),
    says("unknown", "remove", "--force"),
  ];
  deq(others, others.map(() => false));
});

const heldOf = (commands: readonly string[]) =>
  commands.filter((command) => inspectCommand(command).verdict !== "allow");

Deno.test("rulesOfCalls: options and their values may stand anywhere, other words may not", () => {
  const held = [
    "fly -a shop secrets set A=b",
    "fly secrets -a shop set A=b",
    "fly secrets set A=b -a shop",
    "goose -dir migrations postgres dsn up",
  ];
  deq(heldOf(held), held);
  deq(heldOf(["fly logs secrets set", "fly help secrets set", "goose create up sql"]), []);
});

Deno.test("rulesOfCalls: a contradicted rehearsal is none, and neither is one that the tool does not have", () => {
  const held = [
    "wrangler deploy --dry-run=false",
    "wrangler deploy --dry-run --no-dry-run",
    "docker push --dry-run app",
    "gh secret set A -- --help",
  ];
  deq(heldOf(held), held);
  deq(heldOf(["wrangler deploy --dry-run", "gh secret set A --help", "fly deploy -h"]), []);
});

Deno.test("rulesOfCalls: a tool is found behind launchers, packages, images and variables", () => {
  const held = [
    "npx netlify-cli@17 deploy --prod",
    "yarn dlx @railway/cli up",
    "node node_modules/typeorm/cli.js migration:run",
    "php8.3 -d memory_limit=-1 artisan migrate",
    "yarn workspace api prisma migrate deploy",
    "docker run --rm ghcr.io/acme/dbmate:2 up",
    "RAILS_ENV=production bundle exec rails db:migrate",
    "echo 'ACL SETUSER app on' | redis-cli",
  ];
  deq(heldOf(held), held);
  deq(heldOf(["RAILS_ENV=test bundle exec rails db:migrate", "yarn add prisma"]), []);
});
