import type { Tracing } from "../../../kv/store/trace.ts";
import type { Clock, Entropy, Log } from "../../ports/ports.ts";
import type { ProgramForm } from "../../protocol/protocol.ts";

/** One end of a WebSocket. After `closed` nothing else is reported, and `send` does nothing. */
export interface AgentSocket {
  /** Bytes that have not left the process. */
  readonly bufferedAmount: number;
  send(text: string): void;
  /** `code` is 1000 or 3000–4999. With a dead peer `closed` may never be called. */
  close(code: number, reason: string): void;
}

/** How a socket ended. */
export interface SocketEnd {
  /** The close code; 0 when there was no closing handshake. */
  readonly code: number;
  /** The other side's reason, or the error of the connection. */
  readonly reason: string;
  /** The HTTP status of a refused handshake; `reason` is its body. */
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
  /** True while any process of the group is left. */
  groupAlive(): boolean;
}

/** An append-only file. */
export interface Appender {
  /** Returns when the operating system has the text. Throws when it cannot be written. */
  append(text: string): void;
  close(): void;
}

export interface AgentFiles {
  /** Makes a directory that only its owner may enter, if it is missing. */
  makeDir(path: string): void;
  /** The whole text, or null when there is no such file. */
  read(path: string): string | null;
  /** Replaces the file in one step; only its owner may read it. */
  write(path: string, text: string): void;
  openAppender(path: string): Appender;
}

/** The entry at a path. Links are not followed. */
export interface TreeEntry {
  readonly kind: "file" | "folder" | "link" | "other";
  readonly bytes: number;
  /** Permissions: the lower nine bits. */
  readonly mode: number;
  /** The id of its owner; null where the system has none. */
  readonly owner: number | null;
}

/** A file that is written piece by piece. */
export interface NewFile {
  append(bytes: Uint8Array): void;
  /** Syncs it to disk and closes it. */
  close(): void;
}

/** The files that are backed up and restored, and new programs. Methods throw the system's errors. */
export interface AgentTree {
  /** Null when there is nothing. */
  look(path: string): TreeEntry | null;
  /** Names in a folder, sorted by code units. */
  list(path: string): string[];
  read(path: string): Uint8Array<ArrayBuffer>;
  /** The SHA-256 of a file, hex; it may be too large to read at once. */
  sha256(path: string): string;
  readLink(path: string): string;
  /** The path with all links resolved; null when it does not exist. */
  realPath(path: string): string | null;
  /** Writes a file and syncs it to disk; makes missing folders. */
  write(path: string, bytes: Uint8Array, mode: number): void;
  /** Makes a file, which must not exist. */
  create(path: string, mode: number): NewFile;
  link(path: string, target: string): void;
  /** Renames atomically, replacing what is there. */
  rename(from: string, to: string): void;
  remove(path: string): void;
}

/** A user of this machine that commands run as. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  /** The main group; commands have no other. */
  readonly gid: number;
  /** The home folder, or `/` when it is missing. */
  readonly home: string;
}

/** The machine as the agent uses it; host.ts has the real one. */
export interface AgentHost {
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, "unit" | "bytes">;
  readonly log: Log;
  readonly machine: {
    readonly version: string;
    readonly platform: string;
    /** How the running program is installed. */
    readonly form: ProgramForm;
    readonly hostname: string;
  };
  readonly files: AgentFiles;
  readonly tree: AgentTree;
  /** Opens a WebSocket with the credential and the agent subprotocol. */
  dial(url: string, token: string, events: SocketEvents): AgentSocket;
  /** The traces that commands belong to; null unless the agent's own OpenTelemetry is on. */
  readonly tracing: Pick<Tracing, "resume"> | null;
  /** Starts a shell with the command. Throws when it cannot be started. */
  spawn(command: string): ChildProcess;
}

/** The options of one run of the agent. */
export interface AgentOptions {
  /** The relay: http, https, ws or wss, with or without a path in front of `/ws`. */
  readonly url: string;
  readonly token: string;
  /** The name in the relay's list; default: the host name. */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The directory of the agent's key and journal; made if missing. */
  readonly stateDir: string;
  /** The upgrade that brought this program; null or absent for the installed one. */
  readonly upgrade?: string | null;
  /** Absolute paths of the files and folders that may be backed up and restored. */
  readonly backup?: readonly string[];
  /** Aborted to stop: running commands are killed and the exit code is 0. */
  readonly signal?: AbortSignal;
}
