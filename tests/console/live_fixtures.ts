import type { Host, Socket } from "../../console/app/live/host.ts";
import { Hub, type Tab } from "../../console/app/live/hub.ts";
import type { FromHub, OutputMessage, ToHub } from "../../console/app/live/messages.ts";
import { ManualClock } from "../support/clock.ts";

/** A frame that the hub sent. */
interface Frame {
  readonly type: string;
  readonly command_id: string;
  readonly from: number;
}

/** The relay's end of a socket. */
export class FakeSocket implements Socket {
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  isClosed = false;
  readonly frames: Frame[] = [];

  constructor(readonly space: string, readonly lastId: string | null) {}

  send(text: string): void {
    this.frames.push(JSON.parse(text));
  }

  close(): void {
    this.isClosed = true;
  }

  say(type: string, id: string | null = null, data: unknown = {}, command_id?: string): void {
    this.onmessage?.({ data: JSON.stringify({ type, id, data, command_id }) });
  }

  /** The first two messages, in one frame. */
  begin(id = "log:0"): void {
    const changed = { type: "changed", id: null, data: { resource_type: null, resource_id: null } };
    const lines = [{ type: "hello", id, data: {} }, changed].map((each) => JSON.stringify(each));
    this.onmessage?.({ data: lines.join("\n") });
  }

  /** The relay or the network ends it. */
  cut(code = 1006): void {
    this.isClosed = true;
    this.onclose?.({ code });
  }
}

/** A browser whose relay is played by the test. */
export class Browser implements Host {
  readonly clock = new ManualClock();
  readonly sockets: FakeSocket[] = [];
  readonly hub = new Hub(this);
  signedOut = false;
  unit = () => 0.999;

  open(space: string, lastId: string | null): FakeSocket {
    const socket = new FakeSocket(space, lastId);
    this.sockets.push(socket);
    return socket;
  }

  get socket(): FakeSocket {
    return this.sockets.at(-1)!;
  }

  isSignedOut(): Promise<boolean> {
    return Promise.resolve(this.signedOut);
  }

  after(ms: number, run: () => void): () => void {
    return this.clock.after(ms, run);
  }

  random(): number {
    return this.unit();
  }

  /** Moves the clock, and lets what waits for answers go on. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      await rest();
      this.clock.advance(Math.min(left, 100));
    }
    await rest();
  }

  tab(account = "org/ada", space: "live" | "test" = "live"): FakeTab {
    return new FakeTab(this.hub, { type: "attach", account, space });
  }
}

const rest = async () => {
  for (let n = 0; n < 5; n++) await Promise.resolve();
};

/** A tab with all that it was told. */
export class FakeTab {
  readonly told: FromHub[] = [];
  readonly tab: Tab;
  #keys = 0;

  constructor(hub: Hub, attach: ToHub) {
    this.tab = hub.join((message) => this.told.push(message));
    this.tab.receive(attach);
  }

  /** What it was told since the last call, in words. */
  news(): string[] {
    return this.told.splice(0).map((message) => {
      if (message.type === "connection") return message.state;
      if (message.type === "changed") {
        return message.change === null ? "changed" : `changed ${message.change.id}`;
      }
      if (message.type === "output") return `${message.key} ${wordsOf(message.message)}`;
      return message.type;
    });
  }

  follow(commandId: string, from = 0): number {
    const key = ++this.#keys;
    this.tab.receive({ type: "follow", key, agentId: "agt_1", commandId, from });
    return key;
  }

  unfollow(key: number): void {
    this.tab.receive({ type: "unfollow", key });
  }
}

function wordsOf(message: OutputMessage): string {
  if (message.type === "output") return `${message.data.offset}:${message.data.data}`;
  return message.type === "refused" ? `refused ${message.data.code}` : message.type;
}

/** The frames of a socket that are about outputs, in words. */
export const follows = ({ frames }: FakeSocket) =>
  frames.filter(({ type }) => type.endsWith("follow")).map(({ type, command_id, from }) =>
    type === "follow" ? `${command_id} from ${from}` : `no ${command_id}`
  );

/** Sends a chunk of standard output. */
export const sayOutput = (socket: FakeSocket, id: string, offset: number, data: string) => {
  const next = offset + new TextEncoder().encode(data).length;
  socket.say("output", `${next}`, { stream: "stdout", offset, data }, id);
};
