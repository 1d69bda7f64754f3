/** The same response; `ended` is called once, when its body ends or the client has gone. */
export function whenRead(response: Response, ended: () => void): Response {
  const reader = response.body!.getReader();
  const body = pulled(() => reader.read(), (reason) => reader.cancel(reason), ended);
  return new Response(body, response);
}

/** The head of a stream. An empty body remains, because a response without one would get a length of 0. */
export async function headOf(stream: Response): Promise<Response> {
  await stream.body?.cancel();
  return new Response(new ReadableStream({ start: (body) => body.close() }), stream);
}

const encoder = new TextEncoder();
const bytesOf = (part: string | Uint8Array<ArrayBuffer>) =>
  typeof part === "string" ? encoder.encode(part) : part;

/** A body of these parts; `ended` is called once, when it ends or the client has gone. */
export function streamOf(
  parts: AsyncIterable<string | Uint8Array<ArrayBuffer>>,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]();
  const next = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    const { done, value } = await iterator.next();
    return done ? { done } : { done: false, value: bytesOf(value) };
  };
  return pulled(next, () => iterator.return?.(), ended);
}

/** A stream that buffers nothing; `ended` is called once, at its end, an error or a cancel. */
function pulled(
  next: () => Promise<ReadableStreamReadResult<Uint8Array>>,
  stop: (reason: unknown) => unknown,
  ended: () => void,
): ReadableStream<Uint8Array> {
  let over = false;
  const end = () => {
    if (!over) ended();
    over = true;
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await next();
        if (!done) return controller.enqueue(value);
        controller.close();
        end();
      } catch (error) {
        end();
        throw error;
      }
    },
    async cancel(reason) {
      end();
      await stop(reason);
    },
  }, { highWaterMark: 0 });
}
