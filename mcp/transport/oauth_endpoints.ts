import {
  type Form,
  issueMcpTokens,
  registerClient,
  revokeMcpToken,
} from "../../core/access/access.ts";
import { Fault } from "../../core/fault/fault.ts";
import { json } from "../../routes/http/answer.ts";
import { readJson, readText } from "../../routes/http/body.ts";
import { OPEN_BODY_BYTES_MAX } from "../../routes/http/open_body.ts";
import type { Service, Visit } from "../../routes/http/serve_service.ts";
import { challenge, OAUTH } from "./oauth_metadata.ts";

const BOUNDS = { bytesMax: OPEN_BODY_BYTES_MAX };
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/** An endpoint of the authorization server, whose errors have the form of OAuth (RFC 6749, section 5.2). */
const endpoint = (
  path: `/${string}`,
  status: number,
  answer: (visit: Visit) => Promise<unknown>,
): Service => ({
  path,
  methods: ["POST"],
  call: "rest",
  // Its clients have no credential of their own.
  public: true,
  challenge,
  handle: async (visit) => {
    try {
      return respond(visit, status, await answer(visit));
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "VALIDATION_FAILED") throw error;
      const { reason = "invalid_request" } = error.details;
      return respond(visit, 400, { error: reason, error_description: error.message });
    }
  },
});

/** The endpoints of the authorization server that clients call. */
export const oauthServices: readonly Service[] = [
  endpoint(
    OAUTH.registration,
    201,
    async ({ relay, request }) => registerClient(relay, await readJson(relay, request, BOUNDS)),
  ),
  endpoint(
    OAUTH.token,
    200,
    async (visit) => await issueMcpTokens(partsOf(visit), await readForm(visit)),
  ),
  endpoint(
    OAUTH.revocation,
    200,
    async (visit) => {
      await revokeMcpToken(partsOf(visit), await readForm(visit));
      return {};
    },
  ),
];

const partsOf = ({ relay: { config, store, ports, sealer, signals }, info }: Visit) => ({
  config,
  store,
  ports,
  sealer,
  signals,
  request: info,
});

/** Reads a form: no field may come twice, and an empty one is left out (RFC 6749, section 3.2). @throws {Fault} */
async function readForm({ relay, request }: Visit): Promise<Form> {
  if (!FORM_TYPE.test(request.headers.get("content-type") ?? "")) {
    const message = "Send the body as application/x-www-form-urlencoded.";
    throw new Fault("VALIDATION_FAILED", message);
  }
  const fields = [...new URLSearchParams(await readText(relay, request, BOUNDS))];
  if (new Set(fields.map(([name]) => name)).size !== fields.length) {
    throw new Fault("VALIDATION_FAILED", "A field comes twice. Send each field once.");
  }
  return Object.fromEntries(fields.filter(([, value]) => value !== ""));
}

const respond = ({ envelope }: Visit, status: number, body: unknown): Response =>
  json({ ...envelope, noStore: true }, status, body);
