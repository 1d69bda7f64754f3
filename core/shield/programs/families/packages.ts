import { quoteWord } from "../../interpreter/inner.ts";
import type { SimpleCommand } from "../../model.ts";
import { optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { printsSettings } from "../flows.ts";
import { afterFirst } from "../texts.ts";

const EXEC = { verbs: "exec", long: "package" };
const DLX = { verbs: "dlx", long: "package" };

const scriptTexts = (command: SimpleCommand): string[] => [
  ...optionValues(command, "-c", "--call", "--script-shell"),
  // `npm pkg set scripts.build=text`
  ...command.args.flatMap((arg) => arg.startsWith("scripts.") ? [afterFirst(arg, "=")] : []),
];

/** Tools that a project installs; `yarn cdk deploy` runs its own one. */
const LOCAL_TOOLS = new Set(
  [
    "aws-cdk",
    "cdk",
    "cdktf",
    "pulumi",
    "serverless",
    "sls",
    "sst",
    "prisma",
    "knex",
    "typeorm",
    "vercel",
  ],
);

function localTools({ args }: SimpleCommand): string[] {
  const at = args.findIndex((arg) => LOCAL_TOOLS.has(arg));
  return at < 0 || args.slice(0, at).some((arg) => !arg.startsWith("-") && arg !== "run")
    ? []
    : [args.slice(at).map(quoteWord).join(" ")];
}

const APT_PROGRAMS = /^[^=]*(?:-invoke|pre-install-pkgs)/i;

/** Managers of packages and of versions of languages. */
export const PACKAGE_MANAGERS: readonly Family[] = [
  {
    names: ["npm"],
    wrappers: [EXEC, { verbs: "explore", skip: 1 }],
    runs: scriptTexts,
    prints: printsSettings,
  },
  {
    names: ["pnpm", "yarn"],
    wrappers: [EXEC, DLX],
    runs: (command) => [...scriptTexts(command), ...localTools(command)],
  },
  {
    names: ["npx"],
    wrappers: [{ short: "p", long: "package" }],
    runs: ["-c", "--call"],
  },
  { names: ["bunx", "pnpx"], wrappers: [{ short: "p", long: "package" }] },
  { names: ["bundle"], wrappers: [EXEC] },
  { names: ["asdf", "rbenv", "pyenv"], wrappers: [EXEC], prints: printsSettings },
  { names: ["mise"], wrappers: [EXEC, { verbs: "x" }], prints: printsSettings },
  {
    names: ["poetry", "pipenv", "uv", "rye", "hatch", "pdm"],
    wrappers: [{ verbs: "run", short: "p", long: "with python directory project" }],
  },
  {
    names: ["conda"],
    wrappers: [{ verbs: "run", short: "np", long: "name prefix cwd" }],
    prints: printsSettings,
  },
  {
    names: ["mamba", "micromamba"],
    wrappers: [{ verbs: "run", short: "np", long: "name prefix cwd" }],
  },
  { names: ["devbox", "pixi"], wrappers: [{ verbs: "run" }] },
  {
    names: ["apt", "apt-get", "aptitude"],
    runs: (command) =>
      optionValues(command, "-o", "--option").flatMap((value) =>
        APT_PROGRAMS.test(value) ? [afterFirst(value, "=")] : []
      ),
  },
  {
    names: ["brew", "fnm", "goenv", "luarocks", "nodenv", "opam", "pip", "rustup"],
    prints: printsSettings,
  },
];
