const HOSTNAME = "127.0.0.1";

/** The two ends of a connection within this process. @throws {Error} when the system has no socket for it */
export async function connectLoopback(): Promise<[Deno.TcpConn, Deno.TcpConn]> {
  using listener = Deno.listen({ hostname: HOSTNAME, port: 0 });
  const near = await Deno.connect({ hostname: HOSTNAME, port: listener.addr.port });
  try {
    return [near, await acceptFrom(listener, near.localAddr)];
  } catch (error) {
    near.close();
    throw error;
  }
}

/** The connection from this address. Another process of this machine may connect first. */
async function acceptFrom(
  listener: Deno.TcpListener,
  { hostname, port }: Deno.NetAddr,
): Promise<Deno.TcpConn> {
  for (;;) {
    const accepted = await listener.accept();
    const { remoteAddr } = accepted;
    if (remoteAddr.port === port && remoteAddr.hostname === hostname) return accepted;
    accepted.close();
  }
}
