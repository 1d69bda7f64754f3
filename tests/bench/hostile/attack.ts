/**
 * Sends JSON bodies of distinct names as fast as they are answered, from a process of its own. Arguments: the URL,
 * how many bytes a body has, how many are under way at once, and the headers as JSON.
 * Prints `{}` once the first has been answered; on SIGTERM how often each status was answered, then it ends.
 */
const [url, bytes, atOnce, more] = Deno.args as [string, string, string, string];
const headers = { "content-type": "application/json", ...JSON.parse(more) };
const statuses: Record<string, number> = {};
let made = 0;

/** No name comes twice, in any body: an engine that has seen a name reads it faster. */
function bodyOf(size: number): string {
  const members: string[] = [];
  for (let chars = 2; chars < size - 32;) {
    const member = `"name${(made++).toString(36)}":1`;
    members.push(member);
    chars += member.length + 1;
  }
  return `{${members.join(",")}}`;
}

async function send(body: Uint8Array<ArrayBuffer>): Promise<void> {
  let status: string;
  try {
    const answer = await fetch(url, { method: "POST", headers, body });
    await answer.body?.cancel();
    status = `${answer.status}`;
  } catch {
    status = "cut off"; // the server answered before the body was sent, and closed the connection
  }
  statuses[status] = (statuses[status] ?? 0) + 1;
}

Deno.addSignalListener("SIGTERM", () => {
  console.log(JSON.stringify(statuses));
  Deno.exit(0);
});

// Made before: the attacker must not take the processor from whom it attacks.
const bodies = Array.from({ length: 16 }, () => new TextEncoder().encode(bodyOf(Number(bytes))));
await send(bodies[0]!);
console.log("{}");
for (let n = 0; n < Number(atOnce); n++) void goOn(n);

async function goOn(from: number): Promise<never> {
  for (let at = from;; at++) await send(bodies[at % bodies.length]!);
}
