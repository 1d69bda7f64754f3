import { freePort } from "../../cluster/denokv.ts";
import { blockWith } from "../blocks.ts";
import { Machine } from "./machine.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
/** Folders of the machine that lie in the folder of the test instead. */
const FOLDERS = String.raw`/(etc|backup|safe|var/lib)\b`;

/**
 * Stands in for systemd: runs a unit that a page has copied, with its environment, its settings and its state
 * directory. The service has no user of its own, because only root could change it.
 */
const SYSTEMCTL = String.raw`
set -euo pipefail
start() {
  text=$(sed -E "s#(^|[= -])${FOLDERS}#\1$HOME/\2#g; s#/usr/local/bin#$HOME/bin#; s# --run-as \S+##" \
    "$HOME/etc/systemd/system/$1.service")
  value() { sed -n "s/^$1=//p" <<<"$text"; }
  settings=$(value EnvironmentFile)
  folder=$(value StateDirectory)
  if [ -n "$folder" ]; then install -d -m 700 "$HOME/var/lib/$folder"; fi
  command="set -a
    $(value Environment)
    if [ -f ${"$"}{settings#-} ]; then . ${"$"}{settings#-}; fi
    exec $(value ExecStart)"
  run=(env -i "HOME=$HOME" "PATH=$PATH" "DENO_DIR=$DENO_DIR" bash -c "$command")
  if [ "$(value Type)" = oneshot ]; then exec "${"$"}{run[@]}"; fi
  "${"$"}{run[@]}" >"$HOME/$1.log" 2>&1 </dev/null &
  echo $! >"$HOME/$1.pid"
  (tail --pid=$! -n +1 -F "$HOME/$1.log" 2>/dev/null &) | grep -q -m1 -E " is ready |^connected to "
}
stop() {
  kill "$(cat "$HOME/$1.pid")"
  tail --pid="$(cat "$HOME/$1.pid")" -f /dev/null
}
case "$*" in
  daemon-reload | enable\ --now\ *.timer) ;;
  enable\ --now\ *) start "$3" ;;
  start\ *) start "$2" ;;
  stop\ *) stop "$2" ;;
  restart\ *) stop "$2"; start "$2" ;;
  *) exit 1 ;;
esac`;

/** A machine on which the blocks for systemd run, as in their page, with the service on a port of its own. */
export class ServiceMachine implements AsyncDisposable {
  readonly port = `${freePort()}`;
  private constructor(readonly machine: Machine) {}

  static async make(): Promise<ServiceMachine> {
    const machine = await Machine.make();
    await machine.program("systemctl", SYSTEMCTL);
    // Users and groups belong to the machine.
    for (const name of ["useradd", "chgrp"]) await machine.program(name, "exit 0");
    await machine.program("runuser", 'shift 3; exec "$@"');
    await machine.sh(`mkdir -p etc/systemd/system var/lib && ln -s "${ROOT}deploy" deploy`);
    return new ServiceMachine(machine);
  }

  /** The text of a block with what is different here: folders, owners, the port and the name of the relay. */
  own(text: string): string {
    return text
      .replaceAll(RegExp(`(?<=[\\s"=])${FOLDERS}`, "g"), `${this.machine.folder}/$1`)
      .replaceAll(/ -[og] relay\b/g, "")
      .replaceAll(
        /relay\.example(?::9081)?/g,
        (name) => name.endsWith("9081") ? `localhost:${this.port}` : "localhost",
      )
      .replaceAll("https://localhost ", `https://localhost:${this.port} `)
      .replaceAll("0.0.0.0", "127.0.0.1");
  }

  /** A block that another walk checks, as it is run here. */
  block(page: string, part: string): string {
    return this.own(blockWith(page, part).text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { name } of Deno.readDirSync(this.machine.folder)) {
      if (name.endsWith(".pid")) await this.machine.end(`systemctl stop ${name.slice(0, -4)}`);
    }
    await this.machine[Symbol.asyncDispose]();
  }
}
