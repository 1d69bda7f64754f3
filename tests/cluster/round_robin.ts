/** Passes each TCP connection to the next target that accepts it, from a free port or the given one. The targets may change. */
export function roundRobin(targets: readonly string[], at = 0) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: at });
  let turn = 0;
  (async () => {
    for await (const client of listener) pass(client).catch(() => {});
  })();
  async function pass(client: Deno.TcpConn): Promise<void> {
    for (let tried = 0; tried < targets.length; tried++) {
      const port = Number(new URL(targets[turn++ % targets.length]!).port);
      const server = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => null);
      if (server === null) continue;
      client.setNoDelay(true);
      server.setNoDelay(true);
      await Promise.allSettled([
        client.readable.pipeTo(server.writable),
        server.readable.pipeTo(client.writable),
      ]);
      return;
    }
    client.close();
  }
  const { port } = listener.addr as Deno.NetAddr;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => listener.close(),
    [Symbol.dispose]: () => listener.close(),
  };
}
