import { hasOption, operands, optionValues } from "../../programs/arguments.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";

/** Packages that everybody fetches and runs, by their first part: `create-next-app`, `@angular/cli`. */
const KNOWN = new Set(
  ("ng angular cli-kit create-next-app create-vite create-react-app create-vue create-svelte create-astro create-expo-app " +
    "create-react-router create-remix create-nuxt create-nx-workspace create-turbo create-t3-app create-solid create-qwik " +
    "create-hono create-cloudflare create-docusaurus create-strapi-app create-payload-app create-medusa-app create-electron-app " +
    "eslint prettier tsc typescript tsx ts-node jest vitest vite webpack rollup esbuild rimraf nodemon pm2 serve http-server " +
    "http-server-spa wait-on concurrently cross-env playwright cypress prisma drizzle-kit knex sequelize-cli typeorm wrangler vercel netlify " +
    "netlify-cli firebase-tools lerna nx turbo storybook shadcn tailwindcss postcss husky lint-staged commitlint semantic-release " +
    "release-it changeset changesets npm-check-updates ncu depcheck knip madge cspell markdownlint markdownlint-cli markdownlint-cli2 " +
    "markdown-link-check stylelint biome oxlint sort-package-json license-checker serverless aws-cdk cdk expo eas-cli " +
    "react-native svelte-check svelte-kit astro next nuxt gatsby nest nestjs mocha nyc c8 ava tap json-server swagger-cli redocly " +
    "openapi-typescript graphql-codegen codegen npm yarn pnpm node-gyp lighthouse pa11y browserslist update-browserslist-db size-limit " +
    "ruff black isort flake8 mypy pyright pytest poetry pipenv pre-commit tox nox hatch cookiecutter httpie ansible ansible-lint " +
    "yamllint twine build pip-audit pipdeptree bandit pylint uv sqlfluff mkdocs copier cowsay pycowsay rails rubocop bundler " +
    "sb sdks yarnpkg modelcontextprotocol storybook microsoft google vue sveltejs types swc vercel nestjs golang golangci google.golang.org " +
    "golang.org mvdan.cc honnef.co sqlc-dev golang-migrate pressly vektra ripgrep cargo-nextest cargo-audit cargo-deny cargo-edit cargo-watch bat fd-find just hyperfine tokei sqlx-cli")
    .split(" "),
);

/** `@acme/tool@2` is `tool`, and a known owner is as good as a known tool. */
function isKnown(word: string): boolean {
  const parts = word.toLowerCase().replace(/^npm:/, "").split("/");
  return parts.some((part) => KNOWN.has(part.replace(/^@/, "").replace(/[@=\[].*$/, "")));
}

/** The package that is fetched and run at once; null where it may be a part of the project. */
function fetched(command: SimpleCommand): string | null {
  const words = operands(command, VALUED);
  const [verb = "", second = ""] = words;
  switch (command.name) {
    case "npx":
    case "pnpx":
    case "bunx": {
      const isSure = hasOption(command, "-y", "--yes") || verb.startsWith("create-");
      return isSure ? verb : null;
    }
    case "pnpm":
    case "yarn":
      return verb === "dlx" ? second : null;
    case "npm":
      return verb === "create" && second !== ""
        ? `create-${second}`
        : (verb === "exec" || verb === "x") && hasOption(command, "-y", "--yes")
        ? second
        : null;
    case "uvx":
      return optionValues(command, "--from")[0] ?? verb;
    case "pipx":
      return verb === "run" ? second : null;
    case "uv":
      return verb === "tool" && second === "run" ? words[2] ?? null : null;
    case "cargo":
      return words.includes("binstall") ? words.at(-1)! : null;
    case "go":
      return verb === "run" && /^[^/.]+\.[^/]+\/.*@/.test(second) ? second : null;
    default:
      return verb === "exec" ? second : null;
  }
}

const VALUED = new Set([
  "-v",
  "--version",
  "-p",
  "--package",
  "--from",
  "--with",
  "--python",
  "-g",
]);

/** Whether a package is fetched and run that few people know. */
const runsUnseen = (command: SimpleCommand): boolean => {
  const name = fetched(command);
  return name !== null && name !== "" && !/^[./~]/.test(name) && !isKnown(name);
};

/** Sources of known attacks carry their names. */
const ATTACK =
  /exploit|dirty-?(?:pipe|cow)|pwn(?:kit|\b)|privesc|rootkit|(?:^|\W)cve[-_]?\d{4}|(?:^|\/)(?:rev(?:erse)?[-_]?shell|backdoor)/i;

/** A file of source, in a word without blanks. */
const SOURCE = /^\S+\.(?:c|cc|cpp|go|pl|py|rb|rs|sh)$/;
/** Tests and reports may be named after an attack. */
const ABOUT = /test|spec|report|scan|check|audit/i;

/** Programs of strangers that run unseen. */
export const UNSEEN_RULES: readonly Rule[] = [
  rule({
    id: "network.runs_unseen",
    title: "Fetch a package and run it at once",
    commands: [
      "npx",
      "pnpx",
      "bunx",
      "pnpm",
      "yarn",
      "npm",
      "uvx",
      "pipx",
      "uv",
      "cargo",
      "go",
      "gem",
    ],
    match: runsUnseen,
    weight: [3, 3],
    threat: "remote_code_execution",
    explanation:
      "It fetches a package that few people know, and runs it before anybody has read it.",
    safer: "Add the package to the project with a pinned version, and look at it first.",
    hits: [
      "yarn dlx @unknown/postgres-wizard",
      "npx --yes create-x9-toolkit@latest init",
      "cargo binstall --no-confirm someones-tool",
      "gem exec -v '>= 0' quickserve-x",
      "go run github.com/x/y@latest",
    ],
    misses: [
      "npx prettier --check .",
      "pnpm dlx create-vite app",
      "uvx ruff check .",
      "npm create vite@latest app",
      "go run ./cmd/app",
    ],
  }),
  rule({
    id: "escalation.builds_attack",
    title: "Build or run the source of an attack",
    commands: [
      "gcc",
      "cc",
      "g++",
      "clang",
      "tcc",
      "rustc",
      "go",
      "python",
      "python3",
      "perl",
      "ruby",
      "node",
      "make",
    ],
    match: ({ args }) =>
      args.some((arg) => ATTACK.test(arg) && SOURCE.test(arg) && !ABOUT.test(arg)),
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation: "It builds or runs a program whose name is that of a known attack.",
    safer: null,
    hits: [
      "gcc -o /tmp/dp dirtypipe.c",
      "python3 /tmp/CVE-2021-4034.py",
      "cc exploit.c -o e",
    ],
    misses: ["gcc -O2 main.c -o app", "python3 manage.py check", "go run ./cmd/app"],
  }),
  rule({
    id: "network.code_calls_out",
    title: "Run code of a temporary folder against an address",
    commands: ["go", "python", "python3", "perl", "ruby", "node", "php", "lua", "bash", "sh"],
    match: ({ args }) => args.some((arg) => TEMPORARY.test(arg)) && args.some(isAddress),
    weight: [3, 3],
    threat: "remote_code_execution",
    explanation: "It runs code of a temporary folder, and gives it an address without a name.",
    safer: "Show the code to somebody first.",
    hits: [
      "go run /tmp/r.go 203.0.113.8:4444",
      "python3 /tmp/rev.py 203.0.113.8 4444",
      "node /dev/shm/c.js 203.0.113.8",
    ],
    misses: [
      "python3 /tmp/report.py",
      "go run ./cmd/probe 203.0.113.8:443",
      "python3 /tmp/load.py 10.0.0.7:8080",
    ],
  }),
];

const TEMPORARY = /^\/(?:tmp|var\/tmp|dev\/shm)\//;
const isAddress = (arg: string): boolean =>
  /^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$/.test(arg) &&
  !/^(?:0|10|127|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./.test(arg);
