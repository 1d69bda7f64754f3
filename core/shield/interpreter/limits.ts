/** The longest command that is inspected, in bytes of UTF-8; the agent protocol has the same limit. */
export const MAX_COMMAND_BYTES = 64 * 1024;

/** Here-documents in one command: each makes the parser scan the rest again (10,000 in 60 KB took 450 ms). */
export const MAX_HEREDOCS = 64;

/** Shell inside shell inside shell: `sudo sh -c "ssh h 'sh -c …'"` is 3 deep; nobody types 24. */
export const MAX_DEPTH = 24;

/** Brackets open at once: a parser that recovers from thousands of `$(` reads the rest again for each. */
export const MAX_NESTING = 32;

/** Commands, words and code tokens looked at for one inspection: 16 KiB of ordinary script takes half of it. */
export const STEP_BUDGET = 5_000;

/** Characters that variables, substitutions and here-documents may grow to together. */
export const MAX_EXPANDED_CHARS = 512 * 1024;

/** Parsing a word's choices again costs this much more than copying them. */
export const PARSE_FACTOR = 16;

/** Words that one brace expansion may grow to; `{1..100000}` is not expanded. */
export const MAX_BRACE_WORDS = 64;

/** Characters of patterns and words that may be compared: some 20 ms. */
export const MAX_COMPARED_CHARS = 2_000_000;

/** Bytes of nested shell text that are parsed for one inspection, the command itself included. */
export const MAX_PARSED_CHARS = 192 * 1024;

/** The longest path of a folder that is followed; nobody works in a longer one. */
export const MAX_FOLDER_CHARS = 1_024;
