import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { connect } from "node:net";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { World } from "../support/world.ts";

/** What a server sends for a request, byte for byte. */
function exchange(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    let answer = "";
    socket.setEncoding("utf8").on("data", (text) => answer += text);
    socket.on("end", () => resolve(answer)).on("error", reject);
  });
}

Deno.test("HEAD: has the length of the GET, none for a stream, and no body", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const { app, mcp } = world;
  const serve = mount(app, routes, upgrades, mcp.services);
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, serve);
  const ask = async (method: string, path: string) => {
    const answer = await exchange(
      server.addr.port,
      `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n` +
        "connection: close\r\n\r\n",
    );
    const [head, ...body] = answer.split("\r\n\r\n");
    const [, length] = /^content-length: (\d+)$/m.exec(head!) ?? [];
    return { status: head!.split(" ")[1], length, body: body.join("\r\n\r\n") };
  };
  try {
    for (const path of ["/healthz", "/openapi.json", "/docs", "/api/v1/agents", "/nowhere"]) {
      const got = await ask("GET", path);
      const { body, ...head } = await ask("HEAD", path);
      deq(head, { status: got.status, length: got.length }, path);
      eq(body, "", path);
    }
    for (const path of ["/api/audit/export", "/api/events"]) {
      deq(await ask("HEAD", path), { status: "200", length: undefined, body: "" }, path);
    }
    for (const path of ["/api/exec/agt_x?command=id", "/mcp", "/ws"]) {
      const { status, length, body } = await ask("HEAD", path);
      deq([status, Number(length) > 0, body], ["405", true, ""], path);
    }
  } finally {
    await server.shutdown();
  }
});
