import type { Family } from "../family.ts";
import { printsSettings } from "../flows.ts";
import { commandTexts } from "../texts.ts";
import { forVerbs } from "../wrapper.ts";

/** The letters of the program, before the verb, and those of the verbs. */
const TMUX = "LSfTceFtnlpdN";

/** Terminals, multiplexers and recorders of sessions. */
export const TERMINALS: readonly Family[] = [
  {
    names: [
      "alacritty",
      "conhost",
      "foot",
      "kitty",
      "konsole",
      "rlwrap",
      "urxvt",
      "xfce4-terminal",
      "xterm",
    ],
    wrappers: [{}],
  },
  { names: ["xvfb-run"], wrappers: [{ short: "nsefp" }] },
  {
    names: ["tmux"],
    wrappers: [
      ...forVerbs(["new-session", "new"], { short: "LSfTcestnxyF", mode: "shell" }),
      ...forVerbs([
        "new-window",
        "neww",
        "split-window",
        "splitw",
        "run-shell",
        "respawn-pane",
        "if-shell",
        "pipe-pane",
        "display-popup",
        "popup",
      ], { short: TMUX, mode: "shell" }),
      ...forVerbs(["send-keys", "send"], { short: TMUX, mode: "keys" }),
    ],
  },
  {
    names: ["screen"],
    wrappers: [
      { short: "SceEhprsTt" },
      { verbs: "stuff", short: "SceEhprsTt", mode: "keys" },
    ],
  },
  { names: ["dtach", "abduco"], wrappers: [{ short: "eErA", skip: 1 }] },
  { names: ["zellij"], wrappers: [{ verbs: "run", short: "f", long: "env-file name cwd" }] },
  {
    names: ["script"],
    wrappers: [{ short: "EIOBTmo", skip: 1 }],
    runs: commandTexts,
  },
  {
    names: ["unbuffer"],
    wrappers: [{}],
    runs: commandTexts,
  },
  {
    names: ["dircolors", "lesspipe", "resize", "starship", "thefuck", "tset"],
    prints: printsSettings,
  },
];
