import { hasFlag, operands, optionValues } from "../../programs/arguments.ts";
import { findScope } from "../../programs/families/find.ts";
import { SHELLS } from "../../programs/families/shells.ts";
import { classifyPath, locate, normalizePath } from "../../programs/paths.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";

const FINDERS = ["find", "gfind", "bfs"];

/** Whether a path is a folder of the system as a whole, and not the data of one service. */
function isSystemFolder({ cwd }: SimpleCommand, path: string): boolean {
  const place = locate(cwd, path);
  const kind = classifyPath(place);
  return kind === "root" || kind === "home" || kind === "system" &&
      !DATA.some((folder) => normalizePath(place).startsWith(folder));
}

const DATA = ["/srv", "/mnt", "/media", "/data", "/var/www", "/proc"];

/** Whether a search asks for rights that a user has by mistake: setuid, writable for all, without an owner. */
function asksForRights({ args }: SimpleCommand): boolean {
  return args.some((arg, at) =>
    LEFT_OPEN.has(arg) || (arg === "-perm" && isRight(args[at + 1] ?? "")) ||
    arg === "-group" && POWERFUL.has(args[at + 1] ?? "")
  );
}

/** Groups whose members reach passwords, disks or containers. */
const POWERFUL = new Set(["shadow", "disk", "docker", "lxd", "kmem"]);
const LEFT_OPEN = new Set(["-nouser", "-nogroup", "-writable"]);

/** `-4000`, `/6000`, `+4000`, `-u=s`, `/g+s`, `-o+w`, `-2`: a bit for another's rights, or for writing by everyone. */
function isRight(mode: string): boolean {
  const bare = "-/+".includes(mode[0] ?? "?") ? mode.slice(1) : mode;
  if (isOctal(bare)) return (parseInt(bare, 8) & (SET_IDS | OTHERS_WRITE)) !== 0;
  return bare.split(",").some((clause) => {
    const at = clause.search(/[=+]/);
    const who = clause.slice(0, Math.max(at, 0)), rights = clause.slice(at + 1);
    return rights.includes("s") ||
      rights.includes("w") && (who === "" || who.includes("o") || who.includes("a"));
  });
}

const isOctal = (text: string): boolean => /^[0-7]+$/.test(text);
const SET_IDS = 0o6000;
const OTHERS_WRITE = 0o2;

/** Programs and scripts that list every way to more rights; names without an ending and a number. */
const TOOLS = new Set(
  [
    "linpeas linpeas_fat linpeas_small linpeas_linux_amd64 peass-ng winpeas winpeasany winpeasx64 winpeasx86",
    "linenum lse linux-smart-enumeration smart-enumeration les les2 linux-exploit-suggester linux_exploit_suggester",
    "linux-exploit-suggester2 linuxprivchecker unix-privesc-check upc suid3num pspy privesccheck beroot",
    "powerup sharpup powerview seatbelt sharphound bloodhound azurehound rustbound sherlock watson wesng wes",
    "windows-exploit-suggester jaws-enum hostrecon nishang rubeus certipy certify kerbrute enum4linux",
    "enum4linux-ng ldapdomaindump adrecon pingcastle lazagne deepce amicontained cdk kube-hunter peirates",
    "enumerate-iam pacu scoutsuite cloudfox kubeletctl botb traitor gtfonow gtfoblookup mimikatz impacket-secretsdump pwncat winprivesc accesschk",
  ].flatMap((line) => line.split(" ")),
);
/** Short names that mean one of these only as a script. */
const SCRIPTS_ONLY = new Set(["les", "lse", "upc", "wes", "certify", "cdk", "watson", "sherlock"]);

/** `/tmp/pspy64` is `pspy`; `LinEnum.sh` is `linenum`. */
function isTool(path: string): boolean {
  if (path.length < SHORTEST) return false;
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1).toLowerCase()
    .split("?", 1)[0]!;
  const dot = name.lastIndexOf(".");
  const isScript = dot > 0 && ENDINGS.has(name.slice(dot));
  const stem = isScript ? name.slice(0, dot) : name;
  // No file has a longer name, and the pattern takes quadratic time on long runs of digits.
  if (stem === "" || stem.length > LONGEST) return false;
  const bare = stem.replace(/[-_]?(?:v?\d+s?|x64|x86)$/, "");
  return [stem, bare].some((one) => TOOLS.has(one) && (isScript || !SCRIPTS_ONLY.has(one)));
}

const SHORTEST = Math.min(...TOOLS.values().map((name) => name.length));
const LONGEST = 255;
const ENDINGS = new Set([".sh", ".py", ".pl", ".ps1", ".exe", ".bat", ".rb", ".git", ".zip"]);

/** Whether a part of an address is the name of a tool or of its project. */
const namesTool = (address: string): boolean =>
  address.includes("://") ? address.split("/").slice(2).some(isTool) : isTool(address);

const FETCHERS = ["curl", "wget", "wget2", "aria2c", "axel", "git", "gh", "scp", "iwr", "irm"];
const LAUNCHERS = [
  ...SHELLS,
  "powershell",
  "pwsh",
  "python",
  "python2",
  "python3",
  "perl",
  "ruby",
  ".",
  "source",
];

const TOOL_NAMES = [...TOOLS].flatMap((name) => [
  ...SCRIPTS_ONLY.has(name) ? [] : [name],
  ...["32", "64", "32s", "64s", "x64", "x86", ...ENDINGS].map((end) => name + end),
  `${name}x64.exe`,
  `${name}x86.exe`,
]);

/** Searches over a whole machine for rights that were given by mistake. */
export const SEARCH_RULES: readonly Rule[] = [
  rule({
    id: "escalation.search_rights",
    title: "Search the system for setuid, writable or unowned files",
    commands: FINDERS,
    match: (command) =>
      asksForRights(command) &&
      findScope(command).starts.some((start) => isSystemFolder(command, start)),
    evenRehearsed: true,
    weight: [4, 2],
    threat: "reconnaissance",
    explanation:
      "It searches the system for files that give another's rights, or that anybody can change.",
    safer: "Search the one folder that you own, or compare with the package manager: rpm -Va.",
    hits: [
      "find / -perm -4000 -type f 2>/dev/null",
      "find / -type f \\( -perm -u=s -o -perm /g+s \\) -ls",
      "find / -xdev -nouser -o -nogroup",
      "find /etc -writable -type f",
      "find / -perm -o+w -type d",
      "find /usr -perm +6000",
      "find / -group shadow 2>/dev/null",
    ],
    misses: [
      "find . -perm -u+x -type f",
      "find ./scripts -perm /111 -name '*.sh'",
      "find / -name nginx.conf",
      "find /var/www -perm 644",
    ],
  }),
  rule({
    id: "escalation.search_capabilities",
    title: "Search the system for programs with capabilities",
    commands: ["getcap"],
    match: (command) =>
      hasFlag(command, "r") && operands(command).some((path) => isSystemFolder(command, path)),
    weight: [4, 2],
    threat: "reconnaissance",
    explanation: "It searches the system for programs that give rights of root.",
    safer: "Look at the one program: getcap /usr/bin/ping.",
    hits: ["getcap -r / 2>/dev/null", "/sbin/getcap -vr /usr/bin", "getcap -r /usr /opt"],
    misses: ["getcap /usr/bin/ping", "getcap -r ./bin", "getcap -v app"],
  }),
  rule({
    id: "escalation.search_listing",
    title: "Filter a listing for setuid files",
    commands: ["grep", "egrep", "fgrep", "rg", "awk", "gawk"],
    match: (command, words) => command.stdin !== null && (words[0] ?? "").includes("rws"),
    weight: [4, 2],
    threat: "reconnaissance",
    explanation: "It picks the setuid files out of a listing.",
    safer: "Look at the one file: ls -l /usr/bin/sudo.",
    hits: [
      "ls -alR / | grep rws",
      "ls -lR / 2>/dev/null | grep '^-rws'",
      "ls -l /bin | awk '/rws/'",
    ],
    misses: ["grep -rn rws docs/", "ls -la | grep rwx", "ls -l /usr/bin/sudo"],
  }),
  rule({
    id: "escalation.enumerate",
    title: "Run or fetch a known enumeration tool",
    commands: [...TOOL_NAMES, ...LAUNCHERS, ...FETCHERS],
    match: (command, words) => {
      if (TOOL_SET.has(command.name)) return true;
      if (command.name === "git" && words[0] !== "clone") return false;
      return FETCH_SET.has(command.name)
        ? command.args.some(namesTool)
        : isTool(words[0] ?? "") || optionValues(command, "-File", "-m").some(isTool);
    },
    evenRehearsed: true,
    weight: [4, 3],
    threat: "reconnaissance",
    explanation: "It is a known tool that lists every way to more rights on a machine or network.",
    safer: null,
    hits: [
      "./linpeas.sh -a",
      "bash LinEnum.sh -t",
      "/tmp/pspy64 -pf -i 1000",
      "git clone https://github.com/carlospolop/PEASS-ng",
      "wget https://github.com/rebootuser/LinEnum/raw/master/LinEnum.sh",
      "SharpHound.exe -c All",
      "./lse.sh -l 1 -i",
    ],
    misses: ["grep -n linpeas rules.yml", "rm -f linpeas.sh", "git log -- linpeas.sh", "ls lse.sh"],
  }),
  rule({
    id: "escalation.enumerate_cmdlets",
    title: "Look for weak services and paths of attack",
    commands: [
      "invoke-allchecks",
      "invoke-bloodhound",
      "invoke-privesccheck",
      "invoke-winpeas",
      "find-localadminaccess",
      "get-modifiableservice",
      "get-unquotedservice",
      "get-serviceunquoted",
      "invoke-kerberoast",
      "invoke-mimikatz",
    ],
    match: () => true,
    evenRehearsed: true,
    weight: [4, 3],
    threat: "reconnaissance",
    explanation: "It lists weak services, and ways to the rights of an administrator.",
    safer: null,
    hits: [
      "Invoke-AllChecks",
      "pwsh -c 'Invoke-BloodHound -CollectionMethod All'",
      "powershell -c Get-ModifiableService",
    ],
    misses: ["pwsh -c Get-Service", "Get-Process", "pwsh -c 'Invoke-Pester'"],
  }),
  rule({
    id: "escalation.scan_weaknesses",
    title: "Scan for weaknesses, or run scripts in nmap",
    commands: ["nmap"],
    match: (command) =>
      command.args.includes("--interactive") ||
      optionValues(command, "--script").some((value) =>
        value.includes("/") || value.endsWith(".nse") ||
        value.split(",").some((one) => ATTACKS.some((start) => one.includes(start)))
      ),
    weight: [3, 3],
    threat: "reconnaissance",
    explanation:
      "It tries out weaknesses of other machines, or runs a script that may do anything.",
    safer: "Scan the ports of one machine that is yours.",
    hits: [
      "nmap --script vuln 10.0.0.0/24",
      "nmap --script=/tmp/x.nse localhost",
      "nmap --interactive",
    ],
    misses: ["nmap -sn 192.168.1.0/24", "nmap -p 443 example.com", "nmap --script ssl-cert web1"],
  }),
];

const ATTACKS = ["vuln", "exploit", "brute", "dos", "intrusive", "malware", "all"];
const TOOL_SET = new Set(TOOL_NAMES);
const FETCH_SET = new Set(FETCHERS);
