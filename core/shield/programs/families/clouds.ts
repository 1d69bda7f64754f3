import type { SimpleCommand } from "../../model.ts";
import { operands, optionValues } from "../arguments.ts";
import type { Family, Finder } from "../family.ts";
import { opaque } from "../flows.ts";
import { forVerbs } from "../wrapper.ts";

/** `--parameters 'commands=["text"]'` or `'{"commands":["text"]}'`, and `ecs execute-command --command text`. */
const awsCommands = (command: SimpleCommand): string[] => [
  ...optionValues(command, "--parameters").flatMap((value) => {
    const at = COMMANDS.exec(value);
    return at === null ? [] : [trimQuotes(value.slice(at[0].length))];
  }),
  ...optionValues(command, "--command"),
];

const COMMANDS = /^(?:commands=|\s*\{\s*"commands"\s*:)/;

function trimQuotes(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && "[]{} \"'".includes(text[from] ?? "")) from++;
  while (to > from && "[]{} \"'".includes(text[to - 1] ?? "")) to--;
  return text.slice(from, to);
}

const COPY_WORDS = new Set([
  "cp",
  "copy",
  "mirror",
  "mv",
  "put",
  "rsync",
  "scp",
  "sync",
  "upload",
  "upload-batch",
]);

/** The files that are copied to an address behind them; a download names the address first. */
const copiedTo =
  (isAddress: (arg: string) => boolean, needsAddress = true): Finder => ({ args }) => {
    if (!args.some((arg) => COPY_WORDS.has(arg))) return [];
    const last = args.findLastIndex(isAddress);
    const files = last < 0 && !needsAddress ? args : args.slice(0, Math.max(last, 0));
    return files.filter((arg) => !isAddress(arg));
  };

const isUrl = (arg: string): boolean => arg.includes("://");

const copiedToUrl = copiedTo(isUrl);
/** These upload without an address, too. */
const uploaded = copiedTo(isUrl, false);
/** Addresses of `mc` begin with a name: `store/bucket`. */
const copiedToStore = copiedTo((arg) => isUrl(arg) || /^\w[\w-]*\//.test(arg));

/** Every word of an upload, in whatever order the tool wants them. */
const uploadedAnywhere: Finder = (command) =>
  command.args.some((arg) => COPY_WORDS.has(arg) || arg.startsWith("upload"))
    ? operands(command).filter((arg) => !isUrl(arg))
    : [];

/** The last word of a copy, where it is no address. */
const downloaded: Finder = (command) =>
  command.args.some((arg) => COPY_WORDS.has(arg))
    ? operands(command).slice(-1).filter((path) => !isUrl(path))
    : [];

/** Command lines of clouds, and stores of settings and secrets. */
export const CLOUDS: readonly Family[] = [
  {
    names: ["aws"],
    runs: awsCommands,
    prints: ({ args }, incoming) =>
      args.includes("s3") && args.includes("-") ? { ...opaque(incoming), network: true } : null,
    sends: (command) => [...optionValues(command, "--body"), ...copiedToUrl(command)],
  },
  { names: ["gcloud", "az"], runs: ["--command", "--scripts"], sends: uploaded },
  { names: ["gsutil", "s3cmd", "s5cmd", "azcopy"], sends: copiedToUrl },
  { names: ["aws", "gsutil", "s3cmd", "s5cmd", "azcopy"], writes: downloaded },
  { names: ["mc"], sends: copiedToStore },
  {
    names: ["oci", "b2", "coscmd", "coscli", "ossutil", "obsutil", "qshell", "ibmcloud"],
    sends: (
      command,
    ) => [...optionValues(command, "--file", "--body"), ...uploadedAnywhere(command)],
  },
  { names: ["fly", "flyctl"], runs: ["-C", "--command"] },
  {
    names: ["heroku"],
    wrappers: forVerbs(["run", "run:detached"], {
      short: "as",
      long: "app service environment size type remote env",
      mode: "shell",
    }),
  },
  {
    names: ["railway"],
    wrappers: forVerbs(["run"], { short: "a", long: "app service environment" }),
  },
  {
    names: ["doppler"],
    wrappers: [{ verbs: "run", short: "pc", long: "project config token command" }],
    runs: ["--command", "--scripts"],
  },
  {
    names: ["infisical"],
    wrappers: [{ verbs: "run", long: "env path projectId token tags domain" }],
    runs: ["-c", "--command"],
  },
  {
    names: ["kamal", "mrsk"],
    wrappers: [{
      verbs: "app exec",
      short: "rhdce",
      long: "roles hosts destination config-file env version",
      mode: "shell",
    }],
  },
  { names: ["dokku"], wrappers: [{ verbs: "run", short: "e", long: "env", skip: 1 }] },
  { names: ["cf", "eb"], runs: ["-c", "--command"] },
  {
    names: ["sops"],
    wrappers: forVerbs(["exec-env", "exec-file"], { skip: 1, mode: "shell" }),
  },
  { names: ["op"], wrappers: [{ verbs: "run", long: "env-file account" }] },
  {
    names: ["aws-vault", "chamber", "envchain"],
    wrappers: [{ verbs: "exec", short: "d", long: "duration", skip: 1 }],
  },
];
