/**
 * The least that can be called a fan-out: `POST /burst?events=400` sends so many ready texts to every WebSocket, in a
 * `send` each or, if the argument is `true`, in frames of 16 KiB.
 */
const FRAME_BYTES = 16 * 1024;
const batched = Deno.args[0] === "true";
/** Makes a message as large as those of `burst.ts` are: 507 bytes. */
const DATA = JSON.stringify({ pad: "x".repeat(450) });
const sockets = new Set<WebSocket>();
let sent = 0;

function framesOf(events: number): string[] {
  const frames: string[] = [];
  for (let n = 0; n < events; n++) {
    const text = `{"type":"event","id":"bare:${++sent}","data":${DATA}}`;
    const last = frames.at(-1);
    if (batched && last !== undefined && last.length < FRAME_BYTES) {
      frames[frames.length - 1] = `${last}\n${text}`;
    } else frames.push(text);
  }
  return frames;
}

const onListen = ({ port }: { port: number }) => console.log(JSON.stringify({ port }));
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, (request) => {
  if (request.method === "POST") {
    const frames = framesOf(Number(new URL(request.url).searchParams.get("events")));
    for (const socket of sockets) for (const frame of frames) socket.send(frame);
    return new Response(null, { status: 204 });
  }
  const protocol = request.headers.get("sec-websocket-protocol")!;
  const { socket, response } = Deno.upgradeWebSocket(request, { protocol });
  socket.onopen = () => {
    sockets.add(socket);
    socket.send('{"type":"hello"}');
  };
  socket.onerror = () => {};
  socket.onclose = () => sockets.delete(socket);
  return response;
});
