import { hasFlag } from "../../programs/arguments.ts";
import { FROM_NETWORK, LISTED, rule, type SimpleCommand } from "../rule.ts";

/** Signals that tell a service to read its settings or open its logs again. */
const RELOADS = /^-(?:SIG)?(?:HUP|USR1|USR2|WINCH|0|1)$/;
const SIGNAL = /^-(?:\d+|[A-Z]+\d?)$/;

/** Whether every signal only tells the process to read its settings again, or asks whether it lives. */
export function onlyReloads({ args }: SimpleCommand): boolean {
  const signals = args.filter((arg) => SIGNAL.test(arg));
  return signals.length > 0 && signals.every((signal) => RELOADS.test(signal));
}

/** Numbers that a search for processes, another command or a file tells. */
function killsListed(command: SimpleCommand, words: readonly string[]): boolean {
  if (command.name === "fuser") return hasFlag(command, "k", "kill");
  return !onlyReloads(command) &&
    words.some((word) => word.includes(LISTED) || word.includes(FROM_NETWORK));
}

/** Kills whatever a list names. */
export const KILL_LISTED = rule({
  id: "services.kill_listed",
  title: "Kill processes that a list names",
  commands: ["kill", "fuser", "skill", "tskill"],
  match: killsListed,
  weight: [2, 4],
  threat: "service_disruption",
  explanation: "It kills whatever processes another command or a file names.",
  safer: "Print the list first, then kill the one process by its number.",
  hits: [
    "pgrep -f worker | xargs kill -9",
    "for p in $(ps aux | awk '/puma/ {print $2}'); do kill $p; done",
    "kill -9 $(lsof -ti:8080)",
    "fuser -k 8080/tcp",
  ],
  misses: [
    "kill $(cat app.pid)",
    "kill -HUP $(pidof nginx)",
    "for p in $(pgrep worker); do echo kill $p; done",
    "sleep 60 & kill $!",
    "fuser 8080/tcp",
  ],
});
