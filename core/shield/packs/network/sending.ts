import { FROM_SECRET, type SimpleCommand } from "../../model.ts";
import { optionValues } from "../../programs/arguments.ts";
import { factsOf } from "../../programs/families.ts";
import { carries } from "../../programs/output.ts";
import { isSecret } from "../../programs/secrets.ts";

const SENDS = factsOf("sends");

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

/** Whether a sender is given a secret: piped in, in an argument, or in a file that it names. */
export function sendsSecret(command: SimpleCommand): boolean {
  if (command.stdin?.secret || command.inputs?.secret) return true;
  if (carries(command.args, FROM_SECRET)) return true;
  if (command.redirections.some((one) => one.operator === "<" && isSecret(one.target))) return true;
  if (SENDS.get(command.name)?.(command).some(isSecret)) return true;
  if (command.name === "aws" && optionValues(command, "--body").some(isSecret)) return true;
  return CLOUD_COPIERS.has(command.name) && copiesToCloud(command);
}

/** A download names the address first. `az` and `gcloud` upload without an address; `mc` has names: `store/bucket`. */
function copiesToCloud({ name, args }: SimpleCommand): boolean {
  const isAddress = (arg: string) =>
    arg.includes("://") || (name === "mc" && /^\w[\w-]*\//.test(arg));
  const secret = args.findIndex((arg) => isSecret(arg) && !isAddress(arg));
  return secret >= 0 && args.some((arg) => COPY_WORDS.has(arg)) &&
    (args.some(isAddress)
      ? args.slice(secret).some(isAddress)
      : name === "az" || name === "gcloud");
}
