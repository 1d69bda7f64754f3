import { signal } from "@preact/signals";

export const connection = signal<"connecting" | "live" | "lost">("connecting");
export function onChanged(
  _listener: (change: { type: string; id: string } | null) => void,
): () => void {
  return () => {};
}
export function startLive(): void {}
