import assert from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";

Deno.test("inspectCommand: doubtful values are read both ways", () => {
  const doubtful = [
    "test -d y && x=echo; $x rm -rf /",
    '[ -n "$DRY" ] && run=echo; sudo $run rm -rf /',
    '[ -n "$DRY" ] && run=echo; y=$run; $y rm -rf /',
    '[ -n "$DRY" ] && run=echo; export y=$run; $y rm -rf /',
    'test -d y && a=(echo); "${a[@]}" rm -rf /',
    "test -d y && x=ls; ${x:-rm} -rf /",
    "for i in 1; do break; x=echo; done; $x rm -rf /",
    "x=echo; f() { local x; $x rm -rf /; }; f",
    "f() { return; x=echo; }; f; $x rm -rf /",
    "f() { if y; then return; fi; x=echo; }; f; $x rm -rf /",
    "x=echo; sh -c '$x rm -rf /'",
    "x=echo; ssh h '$x rm -rf /'",
    "export x=echo; sudo sh -c '$x rm -rf /'",
    "export x=echo; env -i sh -c '$x rm -rf /'",
    "export x=echo; export -n x; sh -c '$x rm -rf /'",
    "test -d y && rm() { :; }; rm -rf /",
    "f() { rm -rf /; }; false && f() { :; }; f",
    "rm() { :; } & rm -rf /",
    "rm() { :; }; unset -f rm; rm -rf /",
    "rm() { :; }; command rm -rf /",
    "rm() { :; }; sudo rm -rf /",
    "rm() { :; }; env rm -rf /",
    "rm() { :; }; echo / | xargs rm -rf",
    "rm() { :; }; sh -c 'rm -rf /'",
    'rm() { command rm "$@"; }; rm -rf /',
    "echo 'rm -rf /' > a; (exit; echo ls > a); sh a",
    "set -C; echo 'rm -rf /' > a; echo ls > a; sh a",
    "echo 'rm -rf /' > a; echo ls > a & sh a",
  ];
  assert.deepEqual(doubtful.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const unknown = ["x=echo & $x rm -rf /", "f() { local x=echo; }; f; $x rm -rf /"];
  assert.deepEqual(unknown.filter((command) => inspectCommand(command).verdict === "allow"), []);
  const certain = [
    "x=echo; $x rm -rf /",
    "test -d y && x=echo && $x rm -rf /",
    "rm() { :; }; rm -rf /",
    "export x=echo; sh -c '$x rm -rf /'",
    'cd x || exit 1; D=/tmp/y; rm -rf "$D"/*',
    'if a; then D=/tmp/y; rm -rf "$D"/*; fi',
    "if command -v apt-get; then PM=apt-get; fi; $PM list --installed",
    'ls() { command ls --color "$@" | cat; }; ls -la',
    'f() { [ "$1" ] || return 1; D=/tmp/x; rm -rf "$D"/*; }; f x',
  ];
  assert.deepEqual(certain.filter((command) => inspectCommand(command).verdict !== "allow"), []);
});

Deno.test("inspectCommand: the current folder counts only where it is certain", () => {
  const elsewhere = [
    "test -d y && cd /tmp/x; rm -rf *",
    "test -d y && cd /tmp/x || rm -rf *",
    "if false; then cd /tmp/x; fi; rm -rf *",
    "cd /tmp/x & rm -rf *",
    "cd /; cd /tmp; cd -; rm -rf *",
    "cd /; pushd /tmp; popd; rm -rf *",
    "cd /tmp; cd $X; rm -rf *",
    "PWD=/tmp; rm -rf *",
  ];
  assert.deepEqual(elsewhere.filter((command) => inspectCommand(command).verdict === "allow"), []);
  const there = [
    "x=1 cd /; rm -rf *",
    "command cd /; rm -rf *",
    "chdir /etc; rm -rf *",
    "cd a && echo 'rm -rf /' > s && cd ..; sh a/s",
  ];
  assert.deepEqual(there.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const harmless = [
    "mkdir -p build && cd build && rm -rf *",
    "if [ -d build ]; then cd build; rm -rf *; fi",
    "cd /tmp/x || exit 1; rm -rf *",
    "for d in a b; do cd $d; make; cd ..; done; rm -rf build",
  ];
  assert.deepEqual(harmless.filter((command) => inspectCommand(command).verdict !== "allow"), []);
});

Deno.test("inspectCommand: a program is recognized by every name that the line gives it", () => {
  const renamed = [
    "alias x='rm -rf'\nx /",
    "alias x='rm -rf'\nalias y=x\ny /",
    "hash -p /bin/rm ls; ls -rf /",
    "ln -s /bin/rm x; ./x -rf /",
    "cp /usr/bin/rm /tmp/x; sudo /tmp/x -rf /",
    "cp /bin/sh /tmp/x; /tmp/x -c 'rm -rf /'",
    'cp "$(command -v rm)" x; ./x -rf /',
    "ln -s /bin/rm x; PATH=.:$PATH; x -rf /",
    "echo 'rm -rf /' > x; PATH=.:$PATH x",
    "echo 'rm -rf /' > /usr/local/bin/x; x",
    "alias x=ls; echo 'rm -rf /' > x; PATH=.; x",
    `echo '"$@"' > x; ./x ./x rm -rf /`,
    `echo '"$@"' > x; PATH=.; x x rm -rf /`,
    "echo 'rm -rf /' > f; BASH_ENV=./f bash -c :",
    "export BASH_ENV=./f; echo 'rm -rf /' > f; bash -c :",
  ];
  assert.deepEqual(renamed.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const harmless = [
    "alias ls='ls --color'; ls",
    "alias rm='rm -i'; rm foo",
    "ln -s /usr/bin/python3 python; ./python --version",
    "cp target/bin/app bin/; app --version",
    "ENV=production sh -c 'npm start'",
  ];
  assert.deepEqual(harmless.filter((command) => inspectCommand(command).verdict !== "allow"), []);
});

Deno.test("inspectCommand: a link that the line makes is followed", () => {
  const linked = [
    "ln -s / /tmp/x; rm -rf /tmp/x/*",
    "ln -s / /tmp/x; cd /tmp/x && rm -rf etc",
    "ln -s / x; sudo rm -rf x/*",
    "ln -s /etc x; ln -s x y; rm -rf y/*",
    "ln -s /etc/passwd x; echo a > x",
    "ln -s /etc x; chmod -R 777 x",
    "cd /tmp; ln -s /etc; rm -rf etc/*",
  ];
  assert.deepEqual(linked.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const harmless = [
    "ln -s /data/releases/1 /data/current; rm -f /data/current",
    "ln -sfn releases/2 current && rm -rf current/node_modules",
    "cd /tmp; ln -s /etc/nginx/nginx.conf .; rm -rf logs",
  ];
  assert.deepEqual(harmless.filter((command) => inspectCommand(command).verdict !== "allow"), []);
});

Deno.test("inspectCommand: builtins run code behind `--`, and from the shell's input", () => {
  const builtins = [
    "trap -- 'rm -rf /' EXIT",
    "eval -- rm -rf /",
    ". -- /dev/stdin <<'E'\nrm -rf /\nE",
    "source /proc/self/fd/0 <<'E'\nrm -rf /\nE",
    "exec <<'E'\nrm -rf /\nE\nsh",
    "echo ls | { exec <<'E'\nrm -rf /\nE\nsh; }",
    "echo 'rm -rf /' | { exec 3<<<ls; sh; }",
    "mapfile -C 'rm -rf / ;#' -c1 x",
  ];
  assert.deepEqual(builtins.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const coprocess = 'coproc sh; echo "rm -rf /" >&"${COPROC[1]}"';
  assert.equal(inspectCommand(coprocess).verdict, "approve");
  const harmless = ["exec > log.txt; sh build.sh", "exec 3< file; read x <&3", "coproc cat"];
  assert.deepEqual(harmless.filter((command) => inspectCommand(command).verdict !== "allow"), []);
});

Deno.test("inspectCommand: arrays, arguments and values computed from doubtful ones are doubtful too", () => {
  const doubtful = [
    'test -d y && x=echo; a=(); a+=($x); "${a[@]}" rm -rf /',
    "test -d y && x=echo; x=$x; $x rm -rf /",
    "test -d y && x=ls; export y=${x:-rm}; $y -rf /",
    "test -d y && x=ls; if z; then y=${x:-rm}; fi; $y -rf /",
    'test -d y && x=echo; eval "y=$x"; $y rm -rf /',
    'test -d y && x=echo; read y <<< "$x"; $y rm -rf /',
    'a=(rm -rf /); f() { local a=(x y); }; f; "${a[@]}"',
    'if y; then a+=(rm -rf /); fi; "${a[@]}"',
    'if y; then set -- rm -rf /; "$@"; fi',
    "x=rm; f() { command local x=ls; }; f; $x -rf /",
    "f() { f() { rm -rf /; }; f; }; f",
    "test -d y && x=ls; for i in ${x:-rm}; do $i -rf /; done",
    "command eval 'x=rm'; $x -rf /",
  ];
  assert.deepEqual(doubtful.filter((command) => inspectCommand(command).verdict !== "deny"), []);
  const unknown = [
    'a=(rm); false && a=(ls); "${a[@]}" -rf /',
    'a=(rm -rf /); false && a+=(x); "${a[@]}"',
    'a=(rm -rf /); false && unset a; "${a[@]}"',
    'set -- rm -rf /; false && set -- ls; "$@"',
    'set -- a rm -rf /; y && shift; "$@"',
    "test -d y && x=ls; : ${x:=rm}; $x -rf /",
    "test -d y && d=/tmp/x; cd $d; rm -rf *",
  ];
  assert.deepEqual(unknown.filter((command) => inspectCommand(command).verdict === "allow"), []);
});
