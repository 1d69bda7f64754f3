import type { Rule } from "../model.ts";

type Raised = Omit<Rule, "pack" | "commands" | "match"> & { readonly pack?: Rule["pack"] };

/** A rule that the walk raises itself, because it is about how commands are put together. */
function raised(rule: Raised): Rule {
  return { pack: "structure", commands: [], match: () => false, ...rule };
}

/** The text is no shell that the parser understands. */
export const UNPARSEABLE = raised({
  id: "structure.unparseable",
  blast: 3,
  irreversibility: 4,
  threat: "unreadable_command",
  explanation: "The command is not valid shell, so what it would do cannot be told.",
  safer_alternative: "Check the quotes and brackets, or split the command into simple ones.",
});

/** The command is longer, deeper or more tangled than the shield reads. */
export const OVER_BUDGET = raised({
  id: "structure.over_budget",
  blast: 3,
  irreversibility: 4,
  threat: "unreadable_command",
  explanation: "The command is too long, too deeply nested or too tangled to be judged.",
  safer_alternative: "Split it into shorter commands, or put it into a reviewed script.",
});

/** The name of the program is only known when it runs. */
export const HIDDEN_PROGRAM = raised({
  id: "structure.hidden_program",
  blast: 3,
  irreversibility: 3,
  threat: "obfuscation",
  explanation: "The name of the program is computed, so what would run cannot be told.",
  safer_alternative: "Write the program's name out.",
});

/** A shell or interpreter runs text that the line does not show. */
export const UNSEEN_CODE = raised({
  id: "structure.unseen_code",
  blast: 3,
  irreversibility: 3,
  threat: "unseen_code",
  explanation: "A shell or interpreter would run text that cannot be seen beforehand.",
  safer_alternative: "Write the text to a file, read it, then run the file.",
});

/** A shell or interpreter runs what came over the network. */
export const DOWNLOADED_CODE = raised({
  id: "network.downloaded_code",
  pack: "network",
  blast: 5,
  irreversibility: 4,
  threat: "remote_code_execution",
  explanation: "Something downloaded would run at once, unseen and unchecked.",
  safer_alternative: "Download it to a file, check its content and checksum, then run it.",
});

/** A shell or interpreter runs decoded text whose content stays hidden. */
export const DECODED_CODE = raised({
  id: "structure.decoded_code",
  blast: 5,
  irreversibility: 4,
  threat: "obfuscation",
  explanation: "Encoded text would be decoded and run, which hides what it does.",
  safer_alternative: "Send the commands in clear.",
});

/** A function starts itself beside itself, without end. */
export const FORK_BOMB = raised({
  id: "services.fork_bomb",
  pack: "services",
  blast: 5,
  irreversibility: 4,
  threat: "denial_of_service",
  explanation: "A fork bomb: it starts copies of itself until the machine stops answering.",
  safer_alternative: null,
});

/** The rules that the walk raises. */
export const STRUCTURE_RULES: readonly Rule[] = [
  UNPARSEABLE,
  OVER_BUDGET,
  HIDDEN_PROGRAM,
  UNSEEN_CODE,
  DOWNLOADED_CODE,
  DECODED_CODE,
  FORK_BOMB,
];
