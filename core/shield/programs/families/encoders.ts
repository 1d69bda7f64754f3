import { optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { noteOutputIn, noteSuffixed } from "./archives.ts";

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
    output: "decoded",
  },
  {
    names: ["base64"],
    reads: "shown",
    noteFiles: noteOutputIn((command) =>
      optionValues(command, "-out", "-o", "--output", "--result-file", "--archive")
    ),
  },
  { names: ["iconv"], reads: "shown", output: "decoded" },
  { names: ["uudecode", "rot13", "basenc"], output: "decoded" },
  { names: ["base32", "xxd", "od", "hexdump", "hexyl", "qrencode"], reads: "shown" },
];
