import { operands, optionValues } from "../../programs/arguments.ts";
import { FROM_SECRET, once, type SimpleCommand } from "../../model.ts";
import { carries } from "../../programs/output.ts";
import { isSecret } from "../../programs/secrets.ts";

const UPLOADERS = new Set(
  "curl wget irm iwr invoke-restmethod invoke-webrequest".split(" "),
);

/** Uploads: options of these programs whose value, or the file that it names, leaves the machine. */
export function uploads(command: SimpleCommand): readonly string[] {
  return once(command, uploadValues);
}

function uploadValues(command: SimpleCommand): string[] {
  return optionValues(
    command,
    "-d",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-ascii",
    "--data-urlencode",
    "-F",
    "--form",
    "-T",
    "--upload-file",
    "--post-file",
    "--body-file",
    "--post-data",
    "-InFile",
    "--json",
    "--url-query",
    "--variable",
    "-H",
    "--header",
  );
}

/** The file of `name=@file`, `name=<file` or `@"file"`. */
function fileOf(value: string): string {
  return value.slice(Math.max(value.lastIndexOf("@"), value.lastIndexOf("<")) + 1)
    .replaceAll('"', "");
}

/** Options whose value is a file that leaves the machine as it is. */
const SENT_FILES: ReadonlyMap<string, readonly string[]> = new Map([
  ["curl", ["-b", "--cookie", "-K", "--config", "-E", "--cert"]],
  ["wget", ["-i", "--input-file", "--load-cookies"]],
  ["mail", ["-A", "-a", "--attach"]],
  ["mailx", ["-A", "-a"]],
  ["mutt", ["-a"]],
  ["aws", ["--body"]],
  ["swaks", ["--attach", "--body", "--data"]],
]);
/** Programs that send every file that they name. */
const SENDS_OPERANDS = new Set([
  "http",
  "https",
  "xh",
  "croc",
  "wormhole",
  "magic-wormhole",
  "transfer",
  "ffsend",
  "pastebinit",
]);
/** Tools of clouds that copy or upload a file which they name. */
const CLOUD_COPIERS = new Set(["aws", "gsutil", "gcloud", "az", "s3cmd", "s5cmd", "mc", "azcopy"]);
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
/** `FILE:/etc/shadow`, one end of socat. */
const SOCAT_FILE = /^(?:file|open|gopen):([^,]*)/i;
/** Programs that are told line by line what to send. */
const PUTTERS = new Set(["sftp", "ftp", "lftp", "tftp", "smbclient"]);

/** The files of `put file`, on standard input or in an option. */
function puts(command: SimpleCommand): string[] {
  const told = [command.stdin?.text ?? "", ...optionValues(command, "-c", "-e"), ...command.args];
  return told.flatMap((text) => text.split(/[\n;]/))
    .concat(command.args.join(" "))
    .flatMap((line) => PUT.exec(line)?.[1]?.split(/\s+/) ?? []);
}

const PUT = /(?:^|\s)(?:m?put|-u)\s+(.*)/;

/** Whether a sender is given a secret: piped in, in an argument, or in a file that it names. */
export function sendsSecret(command: SimpleCommand): boolean {
  if (command.stdin?.secret || command.inputs?.secret) return true;
  if (carries(command.args, FROM_SECRET)) return true;
  if (command.redirections.some((one) => one.operator === "<" && isSecret(one.target))) return true;
  if (UPLOADERS.has(command.name)) {
    if (uploads(command).some((value) => isSecret(fileOf(value)))) return true;
  }
  const options = SENT_FILES.get(command.name);
  if (options !== undefined && optionValues(command, ...options).some(isSecret)) return true;
  if (PUTTERS.has(command.name)) return puts(command).some(isSecret);
  if (command.name === "gh") {
    return ["gist", "release"].includes(operands(command)[0] ?? "") &&
      operands(command).some(isSecret);
  }
  if (SENDS_OPERANDS.has(command.name)) {
    return operands(command).some((word) => isSecret(fileOf(word)));
  }
  if (command.name === "scp" || command.name === "rsync" || command.name === "rclone") {
    const paths = operands(command);
    const target = paths.at(-1) ?? "";
    return target.includes(":") && paths.slice(0, -1).some(isSecret);
  }
  if (command.name === "socat") {
    return command.args.some((arg) => isSecret(SOCAT_FILE.exec(arg)?.[1] ?? ""));
  }
  return CLOUD_COPIERS.has(command.name) && copiesToCloud(command);
}

/** Of what is fetched the address stands first; `az` and `gcloud` upload without one, `mc` has names: `store/bucket`. */
function copiesToCloud({ name, args }: SimpleCommand): boolean {
  const isAddress = (arg: string) =>
    arg.includes("://") || (name === "mc" && /^\w[\w-]*\//.test(arg));
  const secret = args.findIndex((arg) => isSecret(arg) && !isAddress(arg));
  return secret >= 0 && args.some((arg) => COPY_WORDS.has(arg)) &&
    (args.some(isAddress)
      ? args.slice(secret).some(isAddress)
      : name === "az" || name === "gcloud");
}
