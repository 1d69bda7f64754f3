import { operands, optionValues } from "../../programs/arguments.ts";
import { WRITERS, writtenPaths } from "../../programs/effects.ts";
import { asFolder, holdsSystem, isDisk, locate, normalizePath } from "../../programs/paths.ts";
import { once, type Rule, rule, type SimpleCommand } from "../rule.ts";

/** Long options that name a file or folder to write, in any program. */
const OUTPUT =
  /^--(?:[\w-]+[-_])?(?:out(?:put|file|dir|-file|-dir|put-file|put-dir|put-directory|put-document)?|dest(?:ination|dir)?|log-?file|index-file|report-file|save(?:-to|-as)?|write-to|dump-file|trace-file|pid-?file)(?:=(.*))?$/is;

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
  ["hugo", ["-d"]],
  ["jekyll", ["-d"]],
  ["mkdocs", ["-d", "--site-dir"]],
  ["docker", ["-o"]],
  ["podman", ["-o"]],
  ["git", ["-o"]],
  ["pg_dump", ["-f"]],
  ["pg_dumpall", ["-f"]],
  ["mysqldump", ["-r"]],
]);

/** The values of options that name what a program writes. */
export function outputsOf(command: SimpleCommand): readonly string[] {
  const { args } = command;
  let found: string[] | null = null;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg.charCodeAt(0) !== DASH || arg.charCodeAt(1) !== DASH) continue;
    const named = OUTPUT.exec(arg);
    if (named !== null) (found ??= []).push(named[1] ?? args[at + 1] ?? "");
  }
  const short = SHORT.get(command.name);
  if (short === undefined) return found ?? NO_OUTPUTS;
  return [...found ?? NO_OUTPUTS, ...optionValues(command, ...short)];
}

const NO_OUTPUTS: readonly string[] = [];

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

/** `cp x.conf x.conf.bak`: a copy beside the file. */
function keepsCopy(command: SimpleCommand): boolean {
  const [from = "", to = "", ...more] = operands(command);
  return command.name === "cp" && more.length === 0 && to.length > from.length + 1 &&
    to.startsWith(from) && COPY_TAIL.test(to.slice(from.length));
}

const COPY_TAIL = /^[.~_-][^/]*$/;

const PROTECTED = [
  "/etc/",
  "/boot/",
  "/bin/",
  "/sbin/",
  "/lib",
  "/usr/",
  "/var/lib/",
  "/var/spool/",
  "/var/www/",
  "/sys/",
  "/proc/",
  "/dev/mem",
];

/** Whether a path is below a folder that packages own. */
const isProtected = (path: string): boolean => PROTECTED.some((start) => path.startsWith(start));

/** Files that programs write into the system. */
export const OUTPUT_RULES: readonly Rule[] = [
  rule({
    id: "filesystem.write_system_file",
    title: "Write into a system folder",
    commands: WRITERS,
    match: (command) =>
      !keepsCopy(command) &&
      once(command, writtenPaths).some((path) =>
        isProtected(asFolder(locate(command.cwd, path))) &&
        holdsSystem(path, command.cwd)
      ),
    weight: [4, 3],
    threat: "system_tampering",
    explanation: "It writes into a folder that belongs to the system.",
    safer: "Keep a copy of what was there, or use the package manager.",
    hits: [
      "install evil /usr/bin/",
      "wget -O /usr/bin/ls http://x.example",
      "curl -sSLo /usr/local/bin/kubectl https://dl.k8s.io/kubectl",
      "cd /etc/nginx && wget https://x.example/nginx.conf",
      "cp -t /usr/local/bin app",
      "go build -o /usr/bin/app ./cmd/app",
      "sed -i.bak 's/a/b/' /etc/nginx/nginx.conf",
      "scp nginx.conf web1:/etc/nginx/nginx.conf",
      "7z x -y x.7z -o/usr/local",
      "sort -o /etc/hosts names.txt",
      "pip install --target=/usr/lib/python3/dist-packages x",
      "gpg --dearmor -o /usr/share/keyrings/x.gpg x.asc",
    ],
    misses: [
      "cp notes.md docs/",
      "wget -O page.html https://example.com",
      "curl -O https://example.com/x.tgz",
      "go build -o bin/app ./cmd/app",
      "sed -n 1,5p /etc/hosts",
      "gzip -l /usr/share/doc/x.gz",
      "rsync -a /etc/nginx/ backup/",
      "tar -tf /usr/share/x.tar",
    ],
  }),
  rule({
    id: "filesystem.append_system_file",
    title: "Append to a system file",
    commands: null,
    also: ["redirected"],
    match: ({ redirections, cwd }) =>
      redirections.some(({ operator, target }) =>
        operator.endsWith(">>") &&
        PROTECTED.some((start) =>
          !start.startsWith("/var/") && asFolder(locate(cwd, target)).startsWith(start)
        ) &&
        holdsSystem(target, cwd)
      ),
    evenRehearsed: true,
    weight: [4, 2],
    threat: "system_tampering",
    explanation: "It appends to a file that belongs to the system.",
    safer: "Change the file through configuration that is reviewed.",
    hits: [
      "echo '10.0.0.5 db' >> /etc/hosts",
      "echo net.core.somaxconn=1024 >> /etc/sysctl.d/99-app.conf",
      "cat ca.pem >> /etc/ssl/certs/ca-certificates.crt",
    ],
    misses: ["echo done >> out.log", "date >> /var/log/app.log", "cat /etc/hosts >> notes.txt"],
  }),
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
