import { type Scope, writeFile } from "../../interpreter/scope.ts";
import { FROM_NETWORK, NOTHING, once, type SimpleCommand, textFlow } from "../../model.ts";
import { hasFlag, operands, optionValues, wordsOf } from "../arguments.ts";
import type { Family, FileNoter } from "../family.ts";
import { printsSettings } from "../flows.ts";
import { fileOf, isPath, lastOperand, valuesOf, within } from "../texts.ts";

/** The values that a client sends: data, or the file that a value names. */
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

const uploadedFiles = (command: SimpleCommand): string[] => uploads(command).map(fileOf);

const noteCurl: FileNoter = (command, _output, scope) => {
  for (const path of optionValues(command, "-o", "--output")) {
    writeFile(scope, path, { ...NOTHING, network: true }, false);
  }
  if (hasFlag(command, "OJ", "remote-name")) noteDownloads(wordsOf(command), scope);
};

const noteDownloader: FileNoter = (command, _output, scope) => {
  const named = optionValues(command, "-O", "--output-document", "-o");
  for (const path of named) writeFile(scope, path, { ...NOTHING, network: true }, false);
  if (named.length === 0) noteDownloads(wordsOf(command), scope);
};

function noteDownloads(urls: readonly string[], scope: Scope): void {
  for (const url of urls) {
    const name = url.slice(url.lastIndexOf("/") + 1).split("?", 1)[0] ?? "";
    if (name !== "") writeFile(scope, name, textFlow(FROM_NETWORK), false);
  }
}

/** A file in the folder that the line is in. */
const HERE: readonly string[] = ["./x"];
const OUTPUTS = ["-o", "-O", "--output", "--output-document"];

const WGET_LETTERS = "aABDeIilOoPQRTtUwX";

/** Clients that download and upload. */
export const TRANSFER: readonly Family[] = [
  {
    names: ["curl"],
    valuedLetters: "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    reads: ({ args }) => args.filter((arg) => arg.startsWith("file://")),
    writes: (command) =>
      [
        ...optionValues(
          command,
          "-o",
          "-c",
          "-D",
          "--output",
          "--cookie-jar",
          "--dump-header",
          "--trace",
          "--trace-ascii",
          "--stderr",
        ),
        ...within(optionValues(command, "--output-dir")),
        ...hasFlag(command, "OJ", "remote-name", "remote-name-all") ? HERE : [],
      ].filter(isPath),
    noteFiles: noteCurl,
    output: "network",
    sends: (command) => [
      ...uploadedFiles(command),
      ...optionValues(command, "-b", "--cookie", "-K", "--config", "-E", "--cert"),
    ],
  },
  {
    names: ["wget"],
    valuedLetters: WGET_LETTERS,
    writes: (command) =>
      [
        ...optionValues(command, "-O", "-o", "-a", "--output-document", "--output-file"),
        ...optionValues(command, "--append-output", "--save-cookies"),
        ...within(optionValues(command, "-P", "--directory-prefix")),
        ...hasFlag(command, "OP", "output-document", "directory-prefix", "spider") ? [] : HERE,
      ].filter(isPath),
    noteFiles: noteDownloader,
    output: "network",
    sends: (command) => [
      ...uploadedFiles(command),
      ...optionValues(command, "-i", "--input-file", "--load-cookies"),
    ],
  },
  {
    names: ["aria2c"],
    writes: (command) => [
      ...optionValues(command, "-o", "--out", "-l", "--log"),
      ...within(optionValues(command, "-d", "--dir")),
    ],
    noteFiles: noteDownloader,
    output: "network",
  },
  { names: ["axel", "http", "https", "wget2", "xh"], writes: valuesOf(...OUTPUTS) },
  { names: ["lwp-download"], writes: lastOperand, output: "network" },
  { names: ["axel"], noteFiles: noteDownloader, output: "network" },
  {
    names: ["irm", "iwr", "invoke-restmethod", "invoke-webrequest"],
    output: "network",
    sends: uploadedFiles,
  },
  {
    names: ["http", "https", "xh"],
    output: "network",
    sends: (command) => operands(command).map(fileOf),
  },
  {
    names: ["fetch", "httpie", "lynx", "w3m", "links", "elinks", "get", "ipfs"],
    output: "network",
  },
  { names: ["wget2"], valuedLetters: WGET_LETTERS, output: "network" },
  {
    names: ["croc", "wormhole", "magic-wormhole", "transfer", "ffsend", "pastebinit"],
    sends: (command) => operands(command).map(fileOf),
  },
  { names: ["pastebinit"], reads: "shown" },
  {
    names: ["mail"],
    sends: (command) => optionValues(command, "-A", "-a", "--attach"),
  },
  { names: ["mailx"], sends: (command) => optionValues(command, "-A", "-a") },
  { names: ["mutt"], sends: (command) => optionValues(command, "-a") },
  {
    names: ["swaks"],
    sends: (command) => optionValues(command, "--attach", "--body", "--data"),
  },
  {
    names: ["gh"],
    prints: printsSettings,
    output: "network",
    sends: (command) =>
      ["gist", "release"].includes(operands(command)[0] ?? "") ? operands(command) : [],
  },
];
