import type { ComponentType } from "preact";
import type { Scope } from "../../core/client/client.ts";

/** What a screen gets: the parts of its address. */
export type ScreenProps = Readonly<Record<string, string>>;

/** A screen of the console. Its code is loaded when it is opened first. */
export interface Screen {
  /** Its address below /console; `:name` is a part that the screen gets. */
  readonly path: string;
  readonly title: string;
  readonly load: () => Promise<{ readonly default: ComponentType<ScreenProps> }>;
  /** The rights of which the viewer needs one; without it, everybody who is signed in may open it. */
  readonly needs?: readonly Scope[];
  /** Only people of the host organization may open it. */
  readonly hostOnly?: true;
  /** What it shows belongs to both spaces, and is shown in the live one. */
  readonly liveOnly?: true;
  /** Where the navigation shows it; screens without a group are reached from others. */
  readonly group?: "Work" | "Safety" | "Connections" | "Organization";
  /** Shown to people without a session too. */
  readonly public?: true;
}
