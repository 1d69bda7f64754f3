import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { readLabels } from "../../console/app/labels.ts";
import { DENO_VERSION, isLoopback, pairingLine } from "../../console/app/pairing.ts";

Deno.test("pairingLine: pairs and starts the agent in one line, whatever the name holds", () => {
  const to = { url: "https://relay.example.com", code: "7K3M-QX1D-0ZTA-94HV" };
  eq(
    pairingLine("relay", { ...to, name: "web-1" }),
    "relay agent pair --url https://relay.example.com --name web-1 " +
      "--code 7K3M-QX1D-0ZTA-94HV && relay agent",
  );
  eq(
    pairingLine("relay", { ...to, name: "it's; rm -rf $HOME" }).split(" --name ")[1],
    "'it'\\''s; rm -rf $HOME' --code 7K3M-QX1D-0ZTA-94HV && relay agent",
  );
  const [pair, agent] = pairingLine("clone", { ...to, name: "" }).split(" && ");
  eq(pair!.includes("--name"), false);
  eq(agent, `npx -y deno@${DENO_VERSION} run -A main.ts agent`);
});

Deno.test("pairingLine: names the version of Deno that the repository names", () => {
  eq(DENO_VERSION, Deno.readTextFileSync(new URL("../../.deno-version", import.meta.url)).trim());
});

Deno.test("isLoopback: only names of the relay's own machine", () => {
  deq(
    ["localhost", "127.0.0.1", "[::1]", "relay.example.com", "127.0.0.1.example.com"].map(
      isLoopback,
    ),
    [true, true, true, false, false],
  );
});

Deno.test("readLabels: reads words of key=value, and says what is wrong with others", () => {
  deq(readLabels(" env=prod, tier=\n a=b=c "), {
    labels: { env: "prod", tier: "", a: "b=c" },
    problem: null,
  });
  deq(readLabels("constructor=1"), { labels: { constructor: "1" }, problem: null });
  deq(readLabels(""), { labels: {}, problem: null });
  deq(readLabels("constructor=x"), { labels: { constructor: "x" }, problem: null });
  for (const bad of ["env", "=x", "-a=x", "a=ü", "a=1 a=2", `${"k".repeat(64)}=v`]) {
    eq(typeof readLabels(bad).problem, "string", bad);
  }
});
