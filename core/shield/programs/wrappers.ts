import { FAMILIES } from "./families.ts";
import { words, type Wrapper, type WrapperFields, wrapperOf } from "./wrapper.ts";

const table = new Map<string, Wrapper[]>();

for (const { names, wrappers = [] } of FAMILIES) {
  for (const fields of wrappers) wrap(names.join(" "), fields);
}

function wrap(names: string, fields: WrapperFields = {}) {
  const wrapper = wrapperOf(fields);
  for (const name of words(names)) table.set(name, [...table.get(name) ?? [], wrapper]);
}

wrap("nice", { short: "n", long: "adjustment" });
wrap("ionice", { short: "cnpPu", long: "class classdata" });
wrap("timeout", { short: "ks", long: "kill-after signal", skip: 1 });
wrap("time", { short: "fo", long: "format output" });
wrap("exec", { short: "a" });
wrap("stdbuf", { short: "ioe", long: "input output error" });
wrap("chroot", { long: "userspec groups", skip: 1 });
wrap("nsenter", {
  short: "tSGWN",
  attached: "muinpCUTrw",
  long: "target setuid setgid wdns net-socket",
});
wrap("unshare", {
  short: "RwSGl",
  attached: "muinpCUT",
  long:
    "root wd setuid setgid map-user map-group map-users map-groups propagation setgroups load-interp monotonic boottime",
});
wrap("choom", { short: "np", long: "adjust pid" });
wrap("ld.so", {
  long: "library-path preload audit argv0 inhibit-rpath glibc-hwcaps-prepend glibc-hwcaps-mask",
});
wrap("launchctl", { verbs: "asuser", skip: 1 });
wrap("launchctl", { verbs: "bsexec", skip: 1 });
wrap("ip", { verbs: "netns exec", short: "nbf", long: "netns batch family", skip: 1 });
wrap("ip", { verbs: "vrf exec", short: "nbf", long: "netns batch family", skip: 1 });
wrap("sem", { short: "jPS", long: "id semaphore-name jobs max-procs timeout", mode: "shell" });
wrap("watchexec", {
  short: "ewifdsEo",
  long:
    "exts watch ignore filter debounce stop-signal signal delay-run shell on-busy-update workdir env",
  mode: "shell",
});
wrap(
  "chronic ifne heaptrack rr xterm urxvt alacritty foot nohup setsid builtin command busybox toybox fakeroot fakechroot eatmydata linux32 linux64 i386 x86_64 noglob nocorrect " +
    "unbuffer torsocks torify tsocks dbus-run-session dbus-launch catchsegv tini dumb-init catatonit rlwrap ssh-agent " +
    "conhost entr firejail konsole kitty xfce4-terminal nq tsp daemon reflex env-cmd",
);
wrap("strace", { short: "abeEIoOpPsSuUX" });
wrap("ltrace", { short: "abeloDnpsuwxFA" });
wrap("chrt uclampset", {
  short: "TPD",
  long: "sched-runtime sched-period sched-deadline",
  skip: 1,
});
wrap("taskset", { skip: 1 });
wrap("numactl", {
  short: "iCNmpPwl",
  long: "interleave cpunodebind membind physcpubind preferred",
});
wrap("cpulimit", { short: "lpe", long: "limit pid exe" });
wrap("prlimit", { short: "po", long: "pid output" });
wrap("cgexec", { short: "g" });
wrap("systemd-run", {
  short: "pHMuE",
  long:
    "unit property uid gid slice setenv working-directory on-active on-boot on-startup on-unit-active on-unit-inactive on-calendar timer-property path-property socket-property service-type description host machine nice",
});
wrap("systemd-cat", {
  short: "tp",
  long: "identifier priority stderr-priority level-prefix namespace",
});
wrap("xtables-multi xtables-nft-multi xtables-legacy-multi");
wrap("systemd-inhibit", { long: "what who why mode" });
wrap("proot", { short: "rbwqmk" });
wrap("faketime gosu su-exec setuidgid envdir s6-setuidgid s6-envdir setarch arch", { skip: 1 });
wrap("chpst", { short: "uUebmdopfclrt/" });
wrap("setpriv", {
  long:
    "reuid regid ruid euid rgid egid groups securebits inh-caps ambient-caps bounding-set pdeathsig ptracer selinux-label apparmor-profile landlock-access landlock-rule seccomp-filter",
});
wrap("xvfb-run", { short: "nsefp" });
wrap("proxychains proxychains4", { short: "f" });
wrap("caffeinate", { short: "tw" });
wrap("sshpass", { short: "pfdP" });
wrap("flock", { short: "wE", long: "timeout conflict-exit-code", skip: 1 });
wrap("watch", { short: "nq", long: "interval equexit", mode: "shell" });
wrap("pdsh clush pssh parallel-ssh dsh", {
  short: "wgxlftuhHAoeOp",
  long: "host hosts user",
  mode: "shell",
});
wrap("distrobox toolbox", { verbs: "enter", short: "n", long: "name" });
wrap("toolbox", { verbs: "run", short: "c", long: "container" });
wrap("flatpak-spawn wsl", { short: "du", long: "distribution user cd env directory" });
wrap("start winrs", { mode: "shell" });
wrap("psexec psexec64 paexec", { short: "upwrna", skip: 1 });
wrap("machinectl", { verbs: "shell", short: "EM", long: "uid setenv machine", skip: 1 });

// `-t` is a number of seconds before crictl's verb, and asks for a terminal behind it.
for (const short of ["rct", "rc"]) {
  wrap("crictl", {
    verbs: "exec",
    short,
    long: "timeout runtime-endpoint image-endpoint config",
    skip: 1,
    ends: true,
  });
}
for (const task of ["t", "task", "tasks"]) {
  wrap("ctr", {
    verbs: `${task} exec`,
    short: "na",
    long: "namespace address exec-id cwd user fifo-dir log-uri",
    skip: 1,
  });
}
wrap("buildah", {
  verbs: "run",
  short: "uve",
  long: "user volume env runtime cap-add cap-drop hostname isolation network mount workingdir",
  skip: 1,
  ends: true,
});
wrap("lxc incus", { verbs: "exec", long: "user group cwd env mode", skip: 1 });
wrap("multipass pct", { verbs: "exec", skip: 1 });
wrap("lxc-attach lxc-execute", { short: "n", long: "name" });

wrap("doppler", { verbs: "run", short: "pc", long: "project config token command" });
wrap("op", { verbs: "run", long: "env-file account" });
wrap("aws-vault chamber envchain", { verbs: "exec", short: "d", long: "duration", skip: 1 });
wrap("direnv", { verbs: "exec", skip: 1 });
wrap("dotenv", { short: "ef" });
for (const name of ["poetry", "pipenv", "uv", "rye", "hatch", "pdm"]) {
  wrap(name, { verbs: "run", short: "p", long: "with python directory project" });
}
wrap("bundle npm yarn pnpm asdf mise rbenv pyenv", { verbs: "exec", long: "package" });
wrap("npm", { verbs: "explore", skip: 1 });
// These bring the programs of a shell to systems without one: `shx rm -rf x`.
wrap("shx shelljs cash");
wrap("knife", { verbs: "ssh", short: "aCxiGpP", skip: 1, mode: "shell" });
wrap("npx bunx pnpx", { short: "p", long: "package" });
wrap("pnpm yarn", { verbs: "dlx", long: "package" });
wrap("conda mamba micromamba", { verbs: "run", short: "np", long: "name prefix cwd" });
wrap("heroku railway", { verbs: "run", short: "a", long: "app service environment" });
wrap("tsh", { verbs: "ssh", short: "lipJ", long: "login proxy", skip: 1, mode: "shell" });
wrap("salt", { short: "CGEL", skip: 2, mode: "shell" });
wrap("tmux", { verbs: "new-session", short: "cestnxyF", mode: "shell" });
wrap("tmux", { verbs: "new", short: "cestnxyF", mode: "shell" });
for (
  const verbs of [
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
  ]
) {
  wrap("tmux", { verbs, short: "ceFtnlpdN", mode: "shell" });
}
wrap("screen", { short: "SceEhprsTt" });
for (const verbs of ["send-keys", "send"]) {
  wrap("tmux", { verbs, short: "ceFtnlpdN", mode: "keys" });
}
wrap("screen", { verbs: "stuff", short: "SceEhprsTt", mode: "keys" });
wrap("script", { short: "EIOBTmo", skip: 1 });
wrap("valgrind systemd-nspawn schroot minijail0 nsjail", { short: "Dcumn", long: "directory" });
wrap("perf", { verbs: "stat", short: "eorCptI" });
wrap("perf", { verbs: "record", short: "eorCptcF" });
wrap("perf", { verbs: "trace", short: "eop" });
wrap("adb", { verbs: "shell", short: "sHPt", mode: "shell" });
for (const name of ["minikube", "colima"]) wrap(name, { verbs: "ssh", short: "pn", mode: "shell" });
wrap("docker-machine", { verbs: "ssh", skip: 1, mode: "shell" });
wrap("podman", { verbs: "machine ssh", mode: "shell" });
wrap("vagrant", { verbs: "ssh", mode: "shell" });
wrap("limactl", { verbs: "shell", skip: 1 });
wrap("nomad", { verbs: "alloc exec", skip: 1 });
wrap("runc crun", {
  verbs: "exec",
  short: "eupcg",
  long: "env user process cwd cap pid-file console-socket",
  skip: 1,
});
wrap("devbox pixi", { verbs: "run" });
wrap("mise", { verbs: "x" });
wrap("dotenvx zellij", { verbs: "run", short: "f", long: "env-file name cwd" });
wrap("foreman honcho", { verbs: "run", short: "fe", long: "procfile env" });
wrap("pueue", { verbs: "add", short: "gwa", long: "group working-directory after", mode: "shell" });
wrap("trickle", { short: "dutslLpn" });
wrap("daemonize", { short: "acepulo" });
wrap("cross-env", { assigns: true });
wrap("cross-env-shell", { assigns: true, mode: "shell" });
wrap("dtach abduco", { short: "eErA", skip: 1 });

/** The ways in which a program runs another one; empty for programs that run none. */
export function wrappersOf(name: string): readonly Wrapper[] {
  const found = table.get(name);
  if (found !== undefined) return found;
  if (name.startsWith("ld-linux") || name.startsWith("ld-musl")) return table.get("ld.so") ?? [];
  // GNU coreutils carry a `g` where the system's own come first, as on macOS: `gtimeout`, `gnice`.
  return name.startsWith("g") && G_PREFIXED.has(name.slice(1))
    ? table.get(name.slice(1)) ?? []
    : [];
}

const G_PREFIXED = new Set(["timeout", "nice", "env", "stdbuf", "nohup", "time", "chroot"]);
