import type { Clock, Entropy, Log } from "../../ports/ports.ts";

/** One end of a WebSocket. After `closed` nothing else is reported, and `send` does nothing. */
export interface AgentSocket {
  /** Bytes that were sent but have not left the process. */
  readonly bufferedAmount: number;
  send(text: string): void;
  /** `code` is 1000 or 3000–4999. A dead peer may never let `closed` come. */
  close(code: number, reason: string): void;
}

/** How a socket ended. */
export interface SocketEnd {
  /** The close code; 0 when there was no closing handshake. */
  readonly code: number;
  /** What the other side said, or the error of the connection. */
  readonly reason: string;
  /** The HTTP status of a handshake that was refused; `reason` is what came with it. */
  readonly status?: number;
}

export interface SocketEvents {
  /** A text frame, or null for a binary one. */
  message(text: string | null): void;
  closed(end: SocketEnd): void;
}

/** How a process ended: `code` is null when a signal ended it. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A command in its own process group. */
export interface ChildProcess {
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  readonly ended: Promise<ProcessEnd>;
  /** Signals the whole group; does nothing when it is gone. */
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** Whether any process of the group is left. */
  groupAlive(): boolean;
}

/** An append-only file. */
export interface Appender {
  /** Returns when the operating system has the text. Throws when it cannot be written. */
  append(text: string): void;
  close(): void;
}

export interface AgentFiles {
  /** Makes a directory that only its owner may enter, unless it exists. */
  makeDir(path: string): void;
  /** The whole text, or null when there is no such file. */
  read(path: string): string | null;
  /** Replaces the file in one step; only its owner may read it. */
  write(path: string, text: string): void;
  openAppender(path: string): Appender;
}

/** What stands at a path; a link is not followed. */
export interface TreeEntry {
  readonly kind: "file" | "folder" | "link" | "other";
  readonly bytes: number;
  /** Permissions: the lower nine bits. */
  readonly mode: number;
  /** The number of the user whom it belongs to; null where the system has none. */
  readonly owner: number | null;
}

/** The files that are backed up and restored. Everything throws what the system says. */
export interface AgentTree {
  /** Null when there is nothing. */
  look(path: string): TreeEntry | null;
  /** Names in a folder, in the order of their code units. */
  list(path: string): string[];
  read(path: string): Uint8Array<ArrayBuffer>;
  readLink(path: string): string;
  /** Where a path leads when every link is followed; null when it leads nowhere. */
  realPath(path: string): string | null;
  /** Writes a file that is on the disk when it returns; folders that are missing are made. */
  write(path: string, bytes: Uint8Array, mode: number): void;
  link(path: string, target: string): void;
  /** Takes the place of what is there, in one step. */
  rename(from: string, to: string): void;
  remove(path: string): void;
}

/** A user of this machine whose rights commands get. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  /** The main group. Commands are in no other one. */
  readonly gid: number;
  /** The home folder, or `/` where there is none. */
  readonly home: string;
}

/** What the agent needs of its machine; the real one is in host.ts. */
export interface AgentHost {
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, "unit" | "bytes">;
  readonly log: Log;
  readonly machine: {
    readonly version: string;
    readonly platform: string;
    readonly hostname: string;
  };
  readonly files: AgentFiles;
  readonly tree: AgentTree;
  /** Opens a WebSocket with the credential and the agent subprotocol. */
  dial(url: string, token: string, events: SocketEvents): AgentSocket;
  /** Starts a shell with the command. Throws when it cannot be started. */
  spawn(command: string): ChildProcess;
}

/** What one run of the agent is told. */
export interface AgentOptions {
  /** The relay: http, https, ws or wss, with or without a path in front of `/ws`. */
  readonly url: string;
  readonly token: string;
  /** How the relay lists it; the host name unless given. */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Directory of the agent's key and of its journal; made unless it exists. */
  readonly stateDir: string;
  /** Absolute paths of the files and folders that may be backed up and restored. */
  readonly backup?: readonly string[];
  /** Aborted to stop: running commands are killed and the exit code is 0. */
  readonly signal?: AbortSignal;
}
