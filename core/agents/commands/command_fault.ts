import { Fault } from "../../fault/fault.ts";

/** Runs `act`; the faults that it throws name the command in their details. */
export async function withCommandId<R>(command_id: string, act: () => Promise<R>): Promise<R> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { code, message, details } = error;
    throw new Fault(code, message, { command_id, ...details }, { cause: error.cause });
  }
}
