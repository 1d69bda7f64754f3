import { Fault } from "../fault/fault.ts";

/** Does something that concerns one command: whatever is refused names that command in its details. */
export async function aboutCommand<R>(command_id: string, act: () => Promise<R>): Promise<R> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { code, message, details } = error;
    throw new Fault(code, message, { command_id, ...details }, { cause: error.cause });
  }
}
