import type { SimpleCommand } from "../rule.ts";

/** Whether a pattern is a word that stands beside passwords. */
export const asksForCredential = (pattern: string): boolean =>
  pattern.toLowerCase().split(/\\?\|/).some((part) => {
    const word = part.replaceAll(/\.\*|\\[bswd][*+?]?|\[[^\]]*\][*+?]?|[^a-z0-9_. -]/g, "").trim();
    return WORDS.has(word.replaceAll(/[.\s-]+/g, "_"));
  });

const WORDS = new Set(
  ("pass passw passwd password passwords pwd pw secret secrets secret_key token tokens apikey api_key api_token " +
    "credential credentials private_key access_key aws_secret aws_access_key_id aws_secret_access_key akia bearer " +
    "db_password db_pass authtoken _authtoken auth_token connectionstring connection_string passphrase")
    .split(" "),
);

/** Programs of Windows that search files, folders and the registry. */
export const WINDOWS_SEARCHERS = [
  "findstr",
  "select-string",
  "sls",
  "reg",
  "dir",
  "get-childitem",
  "gci",
  "where",
];

/** A drive, a share, a home or a hive: outside of one's own project. */
const OUTSIDE = /^(?:[A-Za-z]:|[/\\]{2}|\0|~|hk(?:lm|cu|ey_|u))/i;
const NAMED_SECRET = /pass(?:w|\*|\.|wd)|cred|unattend|sysprep|vnc\.ini|web\.config|\.kdbx|secret/i;

const listsOutside = ({ stdin }: SimpleCommand): boolean =>
  stdin?.paths?.some((path) => OUTSIDE.test(path)) ?? false;

/** Whether a search by a program of Windows looks for passwords on a drive, in homes or in the registry. */
export function searchesDrive(command: SimpleCommand): boolean {
  const { name, args } = command;
  const words = args.filter((arg) => !/^[-/][a-z]+$/i.test(arg));
  switch (name) {
    case "findstr":
      return (words.some((word) => OUTSIDE.test(word)) || listsOutside(command)) &&
        words.flatMap((word) => word.replace(/^\/[cg]:/i, "").split(" ")).some(asksForCredential);
    case "select-string":
    case "sls":
      return words.some(asksForCredential) &&
        (words.some((word) => OUTSIDE.test(word)) || listsOutside(command));
    case "reg":
      return args.some((arg, at) =>
        arg.toLowerCase() === "/f" && asksForCredential(args[at + 1] ?? "")
      );
    default:
      return args.some((arg) => /^(?:\/s|-r|-rec\w*)$/i.test(arg)) &&
        words.some((word) => OUTSIDE.test(word)) && words.some((word) => NAMED_SECRET.test(word));
  }
}
