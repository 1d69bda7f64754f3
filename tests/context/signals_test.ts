import { deepStrictEqual as deq } from "node:assert/strict";
import { Signals } from "../../core/context/signals.ts";

Deno.test("Signals.send: a listener that throws is reported, and the others hear the news", () => {
  const failed: unknown[] = [], heard: string[] = [];
  const signals = new Signals((error) => failed.push(error));
  const broken = new Error("broken");
  signals.credentialEnded.on(() => {
    throw broken;
  });
  signals.credentialEnded.on(({ id }) => heard.push(id));
  signals.credentialEnded.send({ id: "key_1" });
  deq([failed, heard], [[broken], ["key_1"]]);
});
