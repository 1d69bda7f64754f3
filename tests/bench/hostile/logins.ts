import { figure } from "../figures.ts";
import { signUp } from "../client.ts";
import { median } from "../parts.ts";
import { SECONDS, sized } from "../size.ts";

/** Sign-ins with wrong passwords that come at once. */
const FLOOD = sized(1_000, 20);
/** Ten failures of one email are a lock-out, so the tries of known users are spread over some. */
const KNOWN = sized(10, 2);
const TRIES_EACH = sized(8, 2);
/** How far the medians for known and unknown users may be apart, in the share of either. */
const TELLING = 0.05;
const POLL_MS = 5;

async function timed(base: string, email: string): Promise<{ status: number; ms: number }> {
  const startedMs = performance.now();
  const response = await fetch(`${base}/api/v1/login`, {
    method: "POST",
    body: JSON.stringify({ email, password: "a wrong password" }),
    headers: { "content-type": "application/json" },
  });
  await response.body?.cancel();
  return { status: response.status, ms: performance.now() - startedMs };
}

const at = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) =>
    a - b
  )[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ??
    NaN;

/** Asks for `/healthz` again and again until told to stop; how long each answer took, in ms. */
async function probe(base: string, stop: AbortSignal): Promise<number[]> {
  const took: number[] = [];
  while (!stop.aborted) {
    const startedMs = performance.now();
    const answer = await fetch(`${base}/healthz`);
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
    took.push(performance.now() - startedMs);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return took;
}

/** What a flood of wrong passwords does to other requests, and whether the time tells who exists. */
export async function wrongPasswords(base: string): Promise<void> {
  const known: string[] = [];
  for (let n = 0; n < KNOWN; n++) {
    await signUp(base, 10_000 + n);
    known.push(`bench${10_000 + n}@example.com`);
  }
  const times = { known: [] as number[], unknown: [] as number[] };
  for (let n = 0; n < KNOWN * TRIES_EACH; n++) {
    const who = [["known", known[n % KNOWN]!], ["unknown", `nobody${n}@example.com`]] as const;
    // Neither is always the one that comes after the other.
    for (const [kind, email] of n % 2 === 0 ? who : who.toReversed()) {
      times[kind].push((await timed(base, email)).ms);
    }
  }
  const [a, b] = [median(times.known), median(times.unknown)];
  const apart = Math.abs(a - b) / Math.min(a, b);
  figure("known and unknown users apart", apart * 100, "%");
  console.log(
    `wrong password: known users ${a.toFixed(1)} ms, unknown ${b.toFixed(1)} ms, medians of ` +
      `${times.known.length}: ${(apart * 100).toFixed(1)} % apart, ` +
      `${apart <= TELLING ? "within" : "BEYOND"} ${TELLING * 100} %`,
  );
  const quiet = new AbortController();
  const before = probe(base, quiet.signal);
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
  quiet.abort();
  const calm = await before;
  const flooded = new AbortController();
  const during = probe(base, flooded.signal);
  const startedMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: FLOOD }, (_, n) => timed(base, `flood${n}@example.com`)),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  flooded.abort();
  const busy = await during;
  const statuses: Record<string, number> = {};
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  figure(`/healthz beside ${FLOOD} wrong passwords, p99`, at(busy, 0.99), "ms");
  console.log(
    `${FLOOD} wrong passwords at once: ${seconds.toFixed(1)} s, ${JSON.stringify(statuses)}; ` +
      `/healthz p50 ${at(busy, 0.5).toFixed(1)} ms, p99 ${at(busy, 0.99).toFixed(1)} ms ` +
      `(before: ${at(calm, 0.5).toFixed(1)} and ${at(calm, 0.99).toFixed(1)} ms)`,
  );
}
