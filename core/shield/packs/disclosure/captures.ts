import { hasOption, operands, optionValues, wordsOf } from "../../programs/arguments.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { letters } from "./traffic.ts";

/** Tracers whose option `-p` attaches them; `-c` only counts the calls. */
const TRACERS = new Map([
  ["strace", "abeEIoOpPsSuUX"],
  ["ltrace", "aAbDeFlnopsuwxX"],
  ["truss", "aeEmMnoprstTuvxw"],
  ["dtruss", "pnWt"],
  ["ktrace", "fpt"],
  ["uftrace", "pdDFNATfUWL"],
]);

function watchesProcess(command: SimpleCommand): boolean {
  const { name, args } = command;
  const valued = TRACERS.get(name);
  if (valued !== undefined) {
    const given = letters(command, valued);
    return (given.has("p") || hasOption(command, "--attach", "--pid")) && !given.has("c") &&
      !hasOption(command, "--summary-only");
  }
  switch (name) {
    case "gdb":
    case "lldb":
      return isAttached(command) && !looksAtStack(command);
    case "perf":
      return wordsOf(command)[0] === "trace" &&
        hasOption(command, "-p", "--pid", "-t", "--tid", "-a", "--all-cpus", "-u", "--uid");
    case "bpftrace":
    case "dtrace":
    case "stap":
      return args.some((arg) => readsTexts(arg.replaceAll(FILE_NAMES, "")));
    case "sysdig":
      return !hasOption(command, "-r", "--read") &&
        (hasOption(command, "-w", "--write", "-A", "-X", "-x") ||
          optionValues(command, "-c", "--chisel", "-p").some((text) =>
            SPIES.some((spy) => text.includes(spy))
          ));
    case "frida":
    case "frida-trace":
      return hasOption(command, "-p", "-n", "-N", "-F", "--attach-pid", "--attach-name");
    default:
      return true;
  }
}

/** `gdb -p 12`, `gdb app 12`, `-ex 'attach 12'`, `lldb -n name`. */
function isAttached(command: SimpleCommand): boolean {
  // What follows is the program to start, and its arguments.
  if (hasOption(command, "--args")) return false;
  const attached = command.name === "gdb"
    ? optionValues(command, "-p", "--pid", "-pid")
    : optionValues(command, "-p", "--attach-pid", "-n", "--attach-name");
  const [, second = ""] = operands(command, DEBUGGER_VALUED);
  return attached.length > 0 || /^\d+$/.test(second) ||
    toldBy(command).some((text) => /^\s*(?:process )?attach\b/.test(text));
}

const DEBUGGER_VALUED = new Set(["-ex", "--ex", "-iex", "-x", "-o", "-O", "-p", "-s", "-S", "-c"]);

const toldBy = (command: SimpleCommand): string[] =>
  optionValues(command, "-ex", "--ex", "-iex", "--eval-command", "-o", "-O", "--one-line");

/** Whether a debugger only prints the stacks of the threads, and leaves. */
function looksAtStack(command: SimpleCommand): boolean {
  return hasOption(command, "-batch", "--batch", "-b") &&
    !hasOption(command, "-x", "-s", "--source") &&
    toldBy(command).every((text) => {
      const words = text.trim().toLowerCase().split(/\s+/);
      return STACK_WORDS.has(words[0] ?? "") && !words.includes("full") &&
        (words[0] !== "set" || SETTINGS.has(words[1] ?? ""));
    });
}

const STACK_WORDS = new Set(
  "bt backtrace where info thread threads attach process detach quit q set handle".split(" "),
);
const SETTINGS = new Set(["pagination", "height", "width", "confirm", "logging", "print"]);

/** Functions that read a text or bytes out of the memory of a process. */
const readsTexts = (text: string): boolean => TEXTS.some((name) => text.includes(name));
const TEXTS = ["str(", "buf(", "copyin", "stringof", "user_string", "user_buffer", "user_char("];
const FILE_NAMES = /\bstr\((?:args(?:->|\.)(?:filename|pathname|path|name))\)/g;
const SPIES = ["spy_", "echo_fds", "stdin", "stdout", "httplog", "evt.buffer", "evt.arg.data"];

const DUMPERS: ReadonlyMap<string, (words: readonly string[], command: SimpleCommand) => boolean> =
  new Map([
    ["coredumpctl", ([verb = ""]) => ["dump", "debug", "gdb"].includes(verb)],
    ["jmap", (_words, { args }) => args.some((arg) => arg.startsWith("-dump"))],
    ["jcmd", (words) => words.some((word) => word.startsWith("gc.heap_dump"))],
    ["jattach", (words) => words.includes("dumpheap")],
    ["dotnet-dump", ([verb]) => verb === "collect"],
    ["dotnet-gcdump", ([verb]) => verb === "collect"],
    ["virsh", ([verb = "", ...more]) =>
      ["dump", "qemu-monitor-command"].includes(verb) &&
      (verb === "dump" || more.some((word) => word.includes("dump-guest-memory")))],
    ["vboxmanage", (words) => words.includes("dumpvmcore")],
    ["criu", ([verb = ""]) => ["dump", "pre-dump"].includes(verb)],
    ["py-spy", ([verb], command) => verb === "dump" && hasOption(command, "-l", "--locals")],
    ["kill", (_words, { args }) => endsWithCore(args)],
    ["pkill", (_words, { args }) => endsWithCore(args)],
    ["killall", (_words, { args }) => endsWithCore(args)],
  ]);

/** Signals after which the system writes the memory of the process to a file. */
const CORE_SIGNALS = new Set(["abrt", "iot", "segv", "bus", "trap", "sys", "6", "11", "7", "5"]);

function endsWithCore(args: readonly string[]): boolean {
  return args.some((arg, at) => {
    const before = args[at - 1];
    const named = before === "-s" || before === "--signal" || before === "-n" ? `-${arg}` : arg;
    const signal = named.startsWith("--signal=") ? named.slice(9) : named.slice(1);
    return named.startsWith("-") && CORE_SIGNALS.has(signal.toLowerCase().replace(/^sig/, ""));
  });
}

/** Programs that read the keys, the screen, the camera or the microphone of whoever sits there. */
const RECORDERS = [
  "logkeys",
  "evemu-record",
  "xwd",
  "scrot",
  "maim",
  "grim",
  "gnome-screenshot",
  "spectacle",
  "flameshot",
  "screencapture",
  "fbgrab",
  "fbcat",
  "x11vnc",
  "wf-recorder",
  "wayvnc",
  "recordmydesktop",
  "parec",
  "parecord",
  "pw-record",
  "fswebcam",
  "imagesnap",
  "conspy",
  "ttysnoop",
  "ttysnoop-bpfcc",
  "reptyr",
  "bashreadline",
  "bashreadline-bpfcc",
  "bashreadline.bt",
];

/** Devices that show what others type and see: `/dev/input/event0`, `/dev/pts/3`, `/dev/tty1`, `/dev/fb0`. */
const DEVICES =
  /^(?:\/dev\/(?:input\/|pts\/\d|vcsa?\d*$|vcsu|fb\d|hidraw|snd\/|video\d|tty[1-9]\d?$))/;

const SCREENS = [
  "x11grab",
  "kmsgrab",
  "gdigrab",
  "avfoundation",
  "fbdev",
  "pulse",
  "alsa",
  "dshow",
  "v4l2",
];

const PASTERS = ["xclip", "xsel", "wl-paste", "pbpaste"];
const AS_OTHERS = new Set(["sudo", "su", "runuser", "doas", "pkexec", "asuser"]);
const READ_DEVICES = [
  "cat",
  "tac",
  "dd",
  "xxd",
  "hexdump",
  "od",
  "strings",
  "head",
  "tail",
  "less",
  "cp",
  "tee",
  "evtest",
];

const READERS = new Set(READ_DEVICES);

const isDevice = (arg: string): boolean => DEVICES.test(arg.startsWith("if=") ? arg.slice(3) : arg);

function watchesPerson(command: SimpleCommand): boolean {
  const { name, args, assignments, wrappers, redirections } = command;
  if (READERS.has(name)) {
    return args.some(isDevice) ||
      redirections.some(({ operator, target }) => operator === "<" && isDevice(target));
  }
  if (PASTERS.includes(name)) {
    const isOther = ["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"].some((one) =>
      assignments.has(one)
    ) ||
      wrappers.some((one) => AS_OTHERS.has(one));
    return isOther && !hasOption(command, "-i", "-in", "--input");
  }
  switch (name) {
    case "xinput":
      return args.some((arg) => arg.replace(/^--/, "").startsWith("test"));
    case "showkey":
      return !hasOption(command, "-h", "-V");
    case "xev":
      return hasOption(command, "-root", "-id");
    case "libinput":
      return ["debug-events", "record"].includes(wordsOf(command)[0] ?? "");
    case "keyd":
      return wordsOf(command)[0] === "monitor";
    case "import":
      return optionValues(command, "-window").length > 0;
    case "arecord":
      return !hasOption(command, "-l", "-L", "--list-devices", "--list-pcms");
    case "ffmpeg":
      return optionValues(command, "-f").some((format) => SCREENS.includes(format));
    default:
      return !args.some((arg) => ["-h", "-V", "-v", "-l", "-version", "-help"].includes(arg));
  }
}

/** Programs that look into what others type, show or compute. */
export const CAPTURE_RULES: readonly Rule[] = [
  rule({
    id: "credentials.trace_process",
    title: "Look into another process",
    commands: [
      ...TRACERS.keys(),
      "gdb",
      "lldb",
      "perf",
      "bpftrace",
      "dtrace",
      "stap",
      "sysdig",
      "frida",
      "frida-trace",
    ],
    match: watchesProcess,
    weight: [4, 2],
    threat: "credential_access",
    explanation:
      "It shows what another process reads, writes or holds in memory, passwords included.",
    safer: "Count the calls (strace -c -p), or print the stacks only (gdb -batch -ex bt -p).",
    hits: [
      "strace -f -e trace=read,write -s 4096 -p $(pgrep -f 'sshd: root')",
      "strace -fp 914 -o /tmp/trace",
      "ltrace -s 500 -e crypt -p 1203",
      "gdb -p 1234 -ex 'x/200s $sp'",
      "perf trace -p 1234",
      "bpftrace -e 'uretprobe:/bin/bash:readline { printf(\"%s\\n\", str(retval)); }'",
    ],
    misses: [
      "strace ls",
      "strace -c -p 1234",
      "gdb ./a.out",
      "gdb --args ./app -p 80",
      "gdb -p 1234 -batch -ex 'thread apply all bt'",
      "perf stat -p 1234",
      "bpftrace -l 'tracepoint:syscalls:*'",
      "bpftrace -e 'tracepoint:syscalls:sys_enter_openat { @[comm] = count(); }'",
    ],
  }),
  rule({
    id: "credentials.core_dump",
    title: "Write the memory of a process to a file",
    commands: [...DUMPERS.keys(), "createdump", "avml", "makedumpfile"],
    match: (command) => {
      const dumps = DUMPERS.get(command.name);
      return dumps === undefined ||
        dumps(wordsOf(command).map((word) => word.toLowerCase()), command);
    },
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It writes the memory of a process or machine to a file, passwords included.",
    safer: "Print the stacks only: gdb -batch -ex bt -p, jstack, py-spy dump.",
    hits: [
      "kill -ABRT 1234",
      "jmap -dump:live,format=b,file=/tmp/heap.hprof 1234",
      "coredumpctl dump 1234 -o /tmp/core",
      "virsh dump web1 /tmp/web1.core",
    ],
    misses: ["coredumpctl list", "jmap -histo 1234", "jcmd 1234 Thread.print", "virsh list --all"],
  }),
  rule({
    id: "credentials.watch_person",
    title: "Record keys, screen or sound",
    commands: [
      ...RECORDERS,
      ...PASTERS,
      ...READ_DEVICES,
      "xinput",
      "showkey",
      "xev",
      "libinput",
      "keyd",
      "import",
      "arecord",
      "ffmpeg",
    ],
    match: watchesPerson,
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It records what somebody types, sees, copies or says.",
    safer: null,
    hits: [
      "xinput test-xi2 --root",
      "showkey -a",
      "cat /dev/input/event3",
      "xwd -root -out screen.xwd",
      "DISPLAY=:0 xclip -o",
      "ffmpeg -f x11grab -i :0 out.mp4",
    ],
    misses: [
      "xinput list",
      "cat /dev/null",
      "head -c 16 /dev/urandom",
      "xclip -o",
      "arecord -l",
      "ffmpeg -i in.mp4 -f mp3 out.mp3",
    ],
  }),
];
