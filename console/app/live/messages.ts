import type { Space } from "../space.ts";

/** The state of the link to the relay: `lost` after it has been gone for a second. */
export type LinkState = "connecting" | "live" | "lost";

/** A resource that changed; null when any may have. */
export type Change = { readonly type: string; readonly id: string } | null;

/** A message about a command's output. The fields of `data` are those of the stream in docs/streams.md. */
export type OutputMessage =
  | { readonly type: "status"; readonly data: { readonly status: string } & Fields }
  | {
    readonly type: "output";
    /** The offset after it. */
    readonly next: number;
    readonly data: {
      readonly stream: "stdout" | "stderr";
      readonly offset: number;
      readonly data: string;
    };
  }
  /** Last, after the command's end. */
  | { readonly type: "result"; readonly data: { readonly next_offset: number } & Fields }
  /** Last, when the output cannot be followed. */
  | {
    readonly type: "refused";
    readonly data: { readonly code: string; readonly message: string } & Fields;
  };

type Fields = Readonly<Record<string, unknown>>;

/** A command whose output is wanted, from an offset on. */
export interface Wish {
  readonly agentId: string;
  readonly commandId: string;
  readonly from: number;
}

/** From a tab to the hub. */
export type ToHub =
  /** Begins anew, without any followed output. */
  | { readonly type: "attach"; readonly account: string; readonly space: Space }
  | { readonly type: "detach" }
  /** `key` names it in this tab. */
  | ({ readonly type: "follow"; readonly key: number } & Wish)
  | { readonly type: "unfollow"; readonly key: number };

/** From the hub to a tab. */
export type FromHub =
  | { readonly type: "connection"; readonly state: LinkState }
  | { readonly type: "changed"; readonly change: Change }
  | { readonly type: "notification"; readonly notification: unknown }
  | { readonly type: "output"; readonly key: number; readonly message: OutputMessage }
  | { readonly type: "signed_out" };

/** From a tab to the worker: the tab holds this lock for as long as it lives. */
export interface HoldsLock {
  readonly type: "holds_lock";
  readonly lock: string;
}
