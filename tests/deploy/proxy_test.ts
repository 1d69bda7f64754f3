import { ok } from "node:assert/strict";
import { isInstalled, runProgram, withFolder } from "../support/processes.ts";
import { pathOf, textOf } from "./files.ts";

const TLS = pathOf("tests/fixtures/tls/");

Deno.test({
  name: "deploy/proxy/nginx.conf: nginx accepts it (needs nginx)",
  ignore: !isInstalled("nginx", "-v"),
  fn: () =>
    withFolder(async (folder) => {
      const site = textOf("deploy/proxy/nginx.conf")
        .replace("/etc/ssl/relay/fullchain.pem", `${TLS}localhost.pem`)
        .replace("/etc/ssl/relay/privkey.pem", `${TLS}localhost.key`)
        .replace("/var/log/nginx/", `${folder}/`);
      await Deno.writeTextFile(`${folder}/relay.conf`, site);
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
      const whole = `pid ${folder}/pid; error_log stderr; events {}
        http { access_log off; ${temporary} include ${folder}/relay.conf; }`;
      await Deno.writeTextFile(`${folder}/nginx.conf`, whole);
      const { success, text } = await runProgram("nginx", ["-t", "-c", `${folder}/nginx.conf`]);
      ok(success && !text.includes("[warn]"), text);
    }),
});

Deno.test({
  name: "deploy/proxy/Caddyfile: Caddy accepts it, in its format (needs caddy)",
  ignore: !isInstalled("caddy", "version"),
  async fn() {
    const file = pathOf("deploy/proxy/Caddyfile");
    for (
      const args of [["validate", "--adapter", "caddyfile", "--config", file], [
        "fmt",
        "--diff",
        file,
      ]]
    ) {
      const { success, text } = await runProgram("caddy", args);
      ok(success, text);
    }
  },
});

Deno.test("deploy/proxy/: both wait longer than a command may run, and pass streams on at once", () => {
  const nginx = textOf("deploy/proxy/nginx.conf");
  const [, seconds] = /proxy_read_timeout (\d+)s/.exec(nginx)!;
  ok(Number(seconds) > 600 && nginx.includes("proxy_buffering off"));
  // Caddy sets no time limit for answers unless it is told to.
  const caddy = textOf("deploy/proxy/Caddyfile");
  ok(caddy.includes("flush_interval -1") && !/response_header_timeout|read_timeout/.test(caddy));
});
