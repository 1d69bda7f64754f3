import type { Rule, SimpleCommand } from "../../model.ts";
import { optionValues } from "../../programs/arguments.ts";
import { holdsSystem, isDisk, locate, normalizePath } from "../../programs/paths.ts";
import { rule } from "../rule.ts";

/** Long options that name a file or folder to write, in any program. */
const OUTPUT =
  /^--(?:out(?:put|file|dir|-file|-dir|put-file|put-dir|put-directory|put-document)?|dest(?:ination|dir)?|log-?file|index-file|report-file|save(?:-to|-as)?|write-to|dump-file|trace-file|pid-?file)(?:=(.*))?$/is;

/** Short options that do so, by program. */
const SHORT: ReadonlyMap<string, readonly string[]> = new Map([
  ["tcpdump", ["-w"]],
  ["tshark", ["-w"]],
  ["dumpcap", ["-w"]],
  ["strace", ["-o"]],
  ["ltrace", ["-o"]],
  ["perf", ["-o"]],
  ["psql", ["-o", "-L"]],
  ["nmap", ["-oN", "-oX", "-oG", "-oA", "-oS"]],
  ["pandoc", ["-o"]],
  ["dot", ["-o"]],
  ["objcopy", ["-O"]],
  ["jq", ["-o"]],
  ["xmllint", ["-o"]],
  ["objdump", ["-o"]],
  ["mongodump", ["-o"]],
  ["bison", ["-o"]],
  ["flex", ["-o"]],
  ["iconv", ["-o"]],
  ["shuf", ["-o"]],
  ["time", ["-o"]],
  ["kustomize", ["-o"]],
  ["apk", ["-p", "--root"]],
  ["dnf", ["--installroot"]],
  ["yum", ["--installroot"]],
  ["rpm", ["--root", "-r"]],
  ["pacman", ["-r", "--root", "--sysroot"]],
  ["pip", ["--root"]],
  ["find", ["-fprint", "-fprint0", "-fls"]],
]);

/** The values of options that name what a program writes. */
function* outputsOf(command: SimpleCommand): Generator<string> {
  const { args } = command;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg.charCodeAt(0) !== DASH || arg.charCodeAt(1) !== DASH) continue;
    const found = OUTPUT.exec(arg);
    if (found !== null) yield found[1] ?? args[at + 1] ?? "";
  }
  const short = SHORT.get(command.name);
  if (short !== undefined) yield* optionValues(command, ...short);
}

const DASH = 0x2d;

/** Whether a program writes into the system's folders, or onto a disk, by an option. */
function writesSystem(command: SimpleCommand): boolean {
  for (const value of outputsOf(command)) {
    if (value === "/" || isDisk(value)) return true;
    const path = normalizePath(locate(command.cwd, value));
    if (PLACES.test(path) && holdsSystem(path, command.cwd)) return true;
  }
  return false;
}

const PLACES = /^\/(?:etc|boot|s?bin|lib|usr|sys|proc|var\/(?:lib|spool|www))/;

/** Files that programs write where an option says. */
export const OUTPUT_RULES: readonly Rule[] = [
  rule({
    id: "filesystem.output_option",
    title: "Write output into a system folder",
    commands: null,
    match: writesSystem,
    weight: [4, 3],
    threat: "system_tampering",
    explanation: "An option makes it write into a folder that belongs to the system.",
    safer: "Write to a folder of your own, and compare.",
    hits: [
      "git diff --output=/etc/cron.d/build HEAD~1",
      "helm template x ./chart --output-dir /etc/kubernetes/manifests",
      "strace -o /etc/cron.d/x -e trace=write ls",
      "sudo tcpdump -i eth0 -c 10 -w /etc/cron.d/cap",
      "psql -At -o /etc/profile.d/pg.sh -c 'select 1'",
    ],
    misses: [
      "git diff --output=x.patch",
      "helm template x ./chart --output-dir out",
      "strace -o /tmp/trace ls",
      "tcpdump -i eth0 -w out.pcap",
      "kubectl get pods --output=json",
    ],
  }),
];
