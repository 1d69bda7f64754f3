import { z } from "zod";
import { route } from "../../routes/call/route.ts";

const base = {
  id: "x.y",
  path: "/x",
  summary: "s",
  faults: [],
  handle: () => ({}),
} as const;
const success = { status: 200, body: z.object({}) } as const;
const access = { scope: "agents:read" } as const;

Deno.test("route: a declaration without access, audit or success does not compile", () => {
  // @ts-expect-error no access
  route({ ...base, method: "GET", effect: "read", success });
  // @ts-expect-error a write without audit
  route({ ...base, method: "POST", effect: "write", access, success });
  // @ts-expect-error a GET that changes something without audit
  route({ ...base, method: "GET", effect: "steps", access, success });
  // @ts-expect-error a read never audits
  route({ ...base, method: "GET", effect: "read", access, success, audit: { none: "x" } });
  // @ts-expect-error a scope that is not in the table
  route({ ...base, method: "GET", effect: "read", access: { scope: "agents:fly" }, success });
  const number = { status: 200, body: z.object({ n: z.number() }) } as const;
  // @ts-expect-error the handler must answer what is declared
  route({ ...base, method: "GET", effect: "read", access, success: number });
  route({ ...base, method: "POST", effect: "write", access, success, audit: { none: "a search" } });
});
