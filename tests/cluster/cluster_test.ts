import { strictEqual as eq } from "node:assert/strict";
import { findDenokv } from "./denokv.ts";

const denokv = await findDenokv();
if (denokv === null) console.log("denokv is not on the path: the cluster test is skipped");

Deno.test({
  name: "cluster: commands cross instances, and a killed instance is taken over",
  ignore: denokv === null,
  async fn() {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", new URL("show.ts", import.meta.url).pathname],
      stdin: "null",
    }).output();
    eq(code, 0, new TextDecoder().decode(stderr));
  },
});
