/** A request whose body stops after its first byte. */
export interface Held {
  readonly request: Request;
  /** Resolves when the server waits for the rest. */
  readonly waiting: Promise<void>;
  /** Sends the rest. */
  release(): void;
}

/** Holds the body of a request back. */
export async function holdBody(whole: Request): Promise<Held> {
  const { url, method, headers } = whole;
  const bytes = await whole.bytes();
  const { promise: waiting, resolve: waits } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(bytes.slice(0, 1)),
    async pull(controller) {
      waits();
      await released;
      controller.enqueue(bytes.slice(1));
      controller.close();
    },
  });
  return { request: new Request(url, { method, headers, body }), waiting, release };
}
