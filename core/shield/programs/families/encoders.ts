import { decodeBase32, decodeBase64, decodeHex } from "../../code/decode.ts";
import { hasFlag, optionValues } from "../arguments.ts";
import type { Family, Printer } from "../family.ts";
import { decode, opaque, printsSettings, readAll } from "../flows.ts";
import { valuesOf } from "../texts.ts";
import { noteOutputIn, noteSuffixed } from "./archives.ts";

/** They encode what they read, or decode it with `-d`. */
const encodes = (by: (text: string) => string): Printer => (command, incoming, readFile) => {
  const read = readAll(command, incoming, readFile);
  return hasFlag(command, "dD", "decode") ? decode(read, by) : opaque(read);
};

/** `xxd -r` turns hexadecimal text back. */
const dumpsHex: Printer = (command, incoming, readFile) =>
  command.args.some((arg) => arg.startsWith("-r")) || hasFlag(command, "r")
    ? decode(readAll(command, incoming, readFile), decodeHex)
    : opaque(readAll(command, incoming, readFile));

const printsOpenssl: Printer = ({ args }, incoming) => {
  if (args[0] === "s_client") return { ...opaque(incoming), network: true };
  const isDecoder = args.includes("-d") && (args.includes("base64") || args.includes("-base64"));
  return incoming.text !== null && isDecoder ? decode(incoming, decodeBase64) : null;
};

/** Programs that encrypt or encode. */
export const ENCODERS: readonly Family[] = [
  {
    names: ["gpg"],
    reads: "elsewhere",
    noteFiles: noteSuffixed(".gpg"),
    output: "decoded",
  },
  { names: ["age"], noteFiles: noteSuffixed(".age"), output: "decoded" },
  {
    names: ["openssl"],
    reads: "shown",
    noteFiles: noteOutputIn((command) =>
      optionValues(command, "-out", "-o", "--output", "--result-file", "--archive")
    ),
    prints: printsOpenssl,
    output: "decoded",
  },
  {
    names: ["base64"],
    reads: "shown",
    noteFiles: noteOutputIn((command) =>
      optionValues(command, "-out", "-o", "--output", "--result-file", "--archive")
    ),
    prints: encodes(decodeBase64),
  },
  { names: ["gpg", "gpg2"], writes: valuesOf("-o", "--output") },
  { names: ["age"], writes: valuesOf("-o", "--output") },
  { names: ["openssl"], writes: valuesOf("-out", "-keyout", "-CAout", "-writerand") },
  { names: ["gbase64"], prints: encodes(decodeBase64) },
  { names: ["base32"], reads: "shown", prints: encodes(decodeBase32) },
  { names: ["xxd"], reads: "shown", prints: dumpsHex },
  { names: ["gpg-agent"], prints: printsSettings },
  { names: ["iconv"], reads: "shown", output: "decoded" },
  { names: ["uudecode", "rot13", "basenc"], output: "decoded" },
  { names: ["od", "hexdump", "hexyl", "qrencode"], reads: "shown" },
];
