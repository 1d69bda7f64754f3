import assert from "node:assert/strict";
import { examineCommand } from "../../core/shield/examine.ts";
import { inspectCommand } from "../../core/shield/inspect.ts";

const verdictsOf = (commands: readonly string[]) =>
  commands.map((command) => `${inspectCommand(command).verdict}: ${command}`);

Deno.test("inspectCommand: words expand as in a shell, or are unknown", () => {
  const denied = [
    "${nope:+ls} rm -rf /",
    "env ${nope:+ls} rm -rf /",
    'sh -c "${nope:+ls} rm -rf /"',
    "rm ${nope:+--help} -rf /",
    "unset x; ${x+ls} rm -rf /",
    'x=$(cat f); rm ${x:-"-rf /"}',
    'f() { shift; "$@"; }; f echo rm -rf /',
    'f() { "${@:2}"; }; f echo rm -rf /',
    "sh -c 'shift; $1 rm -rf /' x echo",
    "set -- rm; ${1:-ls} -rf /",
    'set -- -rf /; rm "$@"',
    'set -- "-rf /"; rm $@',
    "f() { f() { $1 -rf /; }; f rm; }; f x",
    'export "x=rm"; ${x:-ls} -rf /',
    "x=/bin/rm; ${x/#rm/ls} -rf /",
    "x='rm -rf /'; ${x/%rm/ls}",
    "x='m -rf /'; ${x/#/r}",
    "x=-RF; rm ${x@L} /",
    "x='$(rm -rf /)'; echo \"${x@P}\"",
    "command export x=rm; ${x:-ls} -rf /",
    "a=(ls rm); ${a[-1]} -rf /",
    "a=(ls); a+=(rm); ${a[1]} -rf /",
    "a=(ls x); a=rm; ${a[0]} -rf /",
    "declare -a a=(ls rm); ${a[1]} -rf /",
    'a=(echo rm -rf /); "${a[@]:1}"',
    'a=(-rf /); rm "${a[@]/x/y}"',
    `a=(${"ls ".repeat(32)}rm); \${a[32]} -rf /`,
    "read a b <<< 'echo rm'; $b -rf /",
    "read -rp 'a b' c <<< 'rm -rf /'; $c",
    "x=ls; IFS= read x <<< rm; $x -rf /",
    "mapfile -t a <<< '-rf /'; rm ${a[@]}",
    "x='a[$(rm -rf /)]'; ((x))",
    "x=y; y='a[$(rm -rf /)]'; echo $((x + 1))",
    "x='a[$(rm -rf /)]'; [[ x -eq 0 ]]",
    "x='a[$(rm -rf /)]'; [[ $x -eq 0 ]]",
    "x='a[$(rm -rf /)]'; let x",
    "x='a[$(rm -rf /)]'; echo ${!x}",
    "f() { (( $1 )); }; f 'a[$(rm -rf /)]'",
    "x='a[$(rm -rf /)]'; echo ${b[x]} ${b:x}",
  ];
  assert.deepEqual(denied.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const unknown = [
    "x=${nope:+ls}; $x rm -rf /",
    'sh <<< "${nope:+ls} rm -rf /"',
    "unset x; ${x-rm} -rf /",
    "x=; ${x-ls} rm -rf /",
    "set -- ls rm; false && set -- x; $2 -rf /",
    "a=([1]=rm [0]=ls); ${a[1]} -rf /",
    "declare -A m; m[k]=rm; ${m[k]} -rf /",
    "a=(ls); mapfile -t a <<< rm; ${a[0]} -rf /",
    "a=(ls x); printf -v 'a[0]' rm; ${a[0]} -rf /",
    "read a <<< $'ls\\nrm'; $a -rf /",
    "IFS=: read a b <<< 'ls:rm'; $b -rf /",
    "OPTARG=ls; getopts a: o -a rm; $OPTARG -rf /",
    "x='r\\x6d'; ${x@E} -rf /",
    "declare -l x=RM; $x -rf /",
    "x=rm :; ${x:-ls} -rf /",
    "[[ rm =~ .* ]]; ${BASH_REMATCH:-ls} -rf /",
    "x='rm -rf /etc echo'; ${x#\"*\"etc }",
    "rm -rf $TMPDIR/*",
    'rm -rf "$TMP"/*',
    "rm -rf $TEMP/etc",
  ];
  assert.deepEqual(unknown.filter((command) => inspectCommand(command).verdict === "allow"), []);
  const harmless = [
    "rm -rf $TMPDIR/build-123",
    'rm -rf "${TMPDIR:-/tmp}/x"',
    "docker run ${TTY:+-t} app",
    "${SUDO:+sudo} apt-get update",
    'PATH="${PATH:+$PATH:}/opt/bin" make',
    'f=(a.txt b.txt); rm "${f[@]}"',
    'set -euo pipefail; set -- a b; echo "$1"',
    'while [ $# -gt 0 ]; do case "$1" in -v) shift ;; esac; done; echo "$@"',
    "i=0; while ((i < 5)); do ((i++)); rm -rf build/$i; done",
    "while IFS=, read -r name url; do curl -s $url; done < list.csv",
  ];
  assert.deepEqual(verdictsOf(harmless), harmless.map((command) => `allow: ${command}`));
});

Deno.test("inspectCommand: only the budget bounds the examination", () => {
  const many = "true ".repeat(64);
  const denied = [
    `parallel ::: ${many}'rm -rf /'`,
    `printf '%s\\n' ${many}'rm -rf /' | sh`,
    `printf '%s\\n' ${many}'rm -rf /' | xargs -I{} sh -c {}`,
    `echo ${many.repeat(8)}-rf / | xargs rm`,
    `for i in ${many}'-rf /'; do rm $i; done`,
    `python3 -c 'os.system;${Array.from({ length: 99 }, (_, i) => `"s${i}";`).join("")}"rm -rf /"'`,
  ];
  for (const command of denied) {
    assert.equal(inspectCommand(command).verdict, "deny", command.slice(0, 40));
  }
  for (
    const command of [
      `echo ${"x ".repeat(2_000)}-rf / > f; xargs rm < f`,
      `echo ${"x ".repeat(4_000)}> f; xargs -I{} echo ${"{}".repeat(1_000)} < f`,
      `find /srv/${"x".repeat(2_000)} -size +1 -exec echo ${"{}".repeat(1_000)} +`,
      `fd x /srv/${"x".repeat(2_000)} -x echo ${"{}".repeat(1_000)}`,
      `forfiles /p ${"x".repeat(2_000)} /c "cmd /c echo ${"@path".repeat(1_000)}"`,
    ]
  ) {
    assert.ok(inspectCommand(command).rule_ids.includes("structure.over_budget"));
  }
  assert.equal(inspectCommand("for i in {1..60}; do echo $i; sleep 1; done").verdict, "allow");
});

Deno.test("examineCommand: each word behind find belongs to one action, in linear time", () => {
  for (const end of ["", "\\;", "{} +"]) {
    const { commands } = examineCommand(`find . ${"-exec rm ".repeat(1_500)}${end}`);
    const words = commands.reduce((sum, { command }) => sum + command.args.length, 0);
    assert.ok(words < 10_000, `${words} words`);
  }
  assert.equal(inspectCommand("find . -exec echo -exec rm -rf / \\;").verdict, "deny");
  assert.equal(inspectCommand("find / -exec echo {} + -exec rm -rf {} +").verdict, "deny");
});

Deno.test("inspectCommand: a command's output is computed, or unknown", () => {
  const denied = [
    "$(printf 'echo\\nrm\\n' | tail -1) -rf /",
    "$(printf 'rm\\necho\\n' | tac | tail -n 1) -rf /",
    "$(head -c2 <<< rmx) -rf /",
    "$(basename /x/rm.sh .sh) -rf /",
    "$(basename /x/rm/) -rf /",
    "$(echo lrm | tr -d a-l) -rf /",
    "$(printf 'mr\\nx' | rev | head -1) -rf /",
    "printf '#!/bin/sh\\nrm -rf /\\n' | tail -n +2 | sh",
  ];
  assert.deepEqual(denied.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const unknown = [
    "$(printf %.2s rmx) -rf /",
    "$(printf 'rm\\cx') -rf /",
    "$(printf %b 'rm\\cx') -rf /",
    "$(echo 'rm\\cx') -rf /",
    "$(echo rmx | tr -dc rm) -rf /",
    "$(echo rrmm | tr -s rm) -rf /",
    "$(printf 'ls\\nrm' | sort -r | head -1) -rf /",
    "$(basename -s .sh /x/rm.sh) -rf /",
    "$(which nope rm) -rf /",
  ];
  assert.deepEqual(unknown.filter((command) => inspectCommand(command).verdict === "allow"), []);
});

Deno.test("inspectCommand: an overlong list in code counts as computed and is not searched again", () => {
  const list = (words: number) => `perl -e 'system qw/ls ${"a ".repeat(words)}/'`;
  assert.equal(inspectCommand(list(100)).verdict, "allow");
  assert.deepEqual(inspectCommand(list(1_000)).rule_ids, ["code.run_computed"]);
});

Deno.test("inspectCommand: changing the owner of a service's data needs approval; of the system's, it is refused", () => {
  assert.deepEqual(
    verdictsOf([
      "chown -R mysql:mysql /var/lib/mysql",
      "chmod -R u=rwX,g=rX /var/www",
      "sudo chown -R anna:anna /home/anna",
      "chown -R nobody /home/*",
      "chown -R nobody /var/lib/mysql/../../..",
    ]).map((one) => one.split(":", 1)[0]),
    ["approve", "approve", "approve", "deny", "deny"],
  );
});

Deno.test("inspectCommand: a file with a file system is not a disk", () => {
  const verdicts = (commands: readonly string[]) =>
    new Set(commands.map((command) => inspectCommand(command).verdict));
  assert.deepEqual(
    verdicts(["mkfs.ext4 -F disk.img", "mkfs -t ext4 /tmp/disk.img"]),
    new Set(["allow"]),
  );
  assert.deepEqual(verdicts(["sudo mkswap /swapfile"]), new Set(["approve"]));
  assert.deepEqual(
    verdicts([
      "mkfs.ext4 /dev/sdb1",
      "mkfs.ext4 LABEL=a.b",
      "cd /dev && mkfs.ext4 sda1",
      "ln -s /dev/sda /tmp/x; mkfs.ext4 /tmp/x",
      "mkfs.ext4 -t x /dev/sda disk.img",
      "mkswap $DISK",
    ]),
    new Set(["deny"]),
  );
});
