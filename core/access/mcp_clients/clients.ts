import { Buffer } from "node:buffer";
import { z } from "zod";
import { isWithin } from "../../../kv/store/clock.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import { Fault } from "../../fault/fault.ts";
import { OutboundError, type Ports } from "../../ports/ports.ts";
import { redirectProblem } from "./redirects.ts";

/**
 * Who asks for consent. A client is public: nothing proves who it is but the address to which the browser returns, and
 * the host of its metadata document if it has one. So a registration needs no record: the id holds what was registered,
 * which anybody may register anyway. Nothing is stored before a person consents.
 */
export interface McpClient {
  readonly id: string;
  /** The name that it gave itself. */
  readonly name: string;
  /** The host that vouches for it by its metadata document; null for a registered client. */
  readonly host: string | null;
  readonly redirectUris: readonly string[];
}

const NAME_CHARS_MAX = 100;
const REDIRECTS_MAX = 10;
/** It is part of addresses. */
const ID_CHARS_MAX = 1_024;
const NONCE_BYTES = 9;
const REGISTERED_PREFIX = "mcp_";
const UNNAMED = "A client without a name";

const Name = z.string().transform((text) => text.trim().slice(0, NAME_CHARS_MAX).toWellFormed());
const RedirectUris = z.array(
  z.string().superRefine((text, { addIssue }) => {
    const message = redirectProblem(text);
    if (message !== null) addIssue(message);
  }),
).min(1).max(REDIRECTS_MAX);
const Metadata = z.looseObject({ client_name: Name.optional(), redirect_uris: RedirectUris });
const Registered = z.tuple([z.string(), Name, RedirectUris]);

/** Why a relay whose configuration has no MCP clients refuses them. */
export const LETS_NONE_IN =
  "This relay lets no MCP clients act for people: `auth.mcp_clients` of its RELAY_CONFIG is " +
  "false. Give the client an API key.";

/** Registers a client (RFC 7591): answers its id, which needs no secret. @throws {Fault} VALIDATION_FAILED */
export function registerClient(
  { ports: { entropy, clock }, config }: {
    readonly ports: Pick<Ports, "entropy" | "clock">;
    readonly config: () => { readonly auth: { readonly mcp_clients: boolean } };
  },
  body: unknown,
) {
  if (!config().auth.mcp_clients) {
    throw new Fault("VALIDATION_FAILED", LETS_NONE_IN, { reason: "access_denied" });
  }
  const read = Metadata.safeParse(body);
  if (!read.success) {
    const [{ path, message }] = read.error.issues as [z.core.$ZodIssue];
    const reason = path[0] === "redirect_uris" ? "invalid_redirect_uri" : "invalid_client_metadata";
    throw new Fault("VALIDATION_FAILED", `${path.join(".") || "The body"}: ${message}`, { reason });
  }
  const { client_name = "", redirect_uris } = read.data;
  const nonce = Buffer.from(entropy.bytes(NONCE_BYTES)).toString("base64url");
  const held = JSON.stringify([nonce, client_name, redirect_uris]);
  const client_id = REGISTERED_PREFIX + Buffer.from(held).toString("base64url");
  if (client_id.length > ID_CHARS_MAX) {
    const message = "The name and the addresses are too long together. Register fewer addresses.";
    throw new Fault("VALIDATION_FAILED", message, { reason: "invalid_client_metadata" });
  }
  return {
    client_id,
    client_id_issued_at: Math.floor(clock.now() / 1000),
    client_name,
    redirect_uris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

/** The client that a registered id holds; null for any other text. */
function registeredClient(id: string): McpClient | null {
  try {
    const held = Buffer.from(id.slice(REGISTERED_PREFIX.length), "base64url").toString();
    const [, name, redirectUris] = Registered.parse(JSON.parse(held));
    return { id, name: name || UNNAMED, host: null, redirectUris };
  } catch {
    return null;
  }
}

/** Documents are fetched again after this. */
const FRESH_MS = 10 * 60 * 1000;
const DEADLINE_MS = 5_000;
const DOCUMENT_BYTES_MAX = 10 * 1024;
const KNOWN_MAX = 500;

/** Clients by their ids. An id that is an address leads to the client's metadata document, which is remembered for a while. */
export class McpClients {
  readonly #known = new RecentMap<{ readonly atMs: number; readonly client: McpClient }>(KNOWN_MAX);

  constructor(private readonly ports: Pick<Ports, "clock" | "outbound">) {}

  /** The client of an id, for a person of the organization. @throws {Fault} VALIDATION_FAILED, UNAVAILABLE when its document cannot be fetched */
  async find(id: string, organization: string): Promise<McpClient> {
    if (id.length <= ID_CHARS_MAX) {
      if (id.startsWith("https://")) return await this.#documented(id, organization);
      const client = id.startsWith(REGISTERED_PREFIX) ? registeredClient(id) : null;
      if (client !== null) return client;
    }
    throw unknown("The client is not registered here. Let it register again.");
  }

  async #documented(id: string, organization: string): Promise<McpClient> {
    const now = this.ports.clock.now();
    const known = this.#known.get(id);
    if (known !== undefined && isWithin(known.atMs, FRESH_MS, now)) return known.client;
    const client = await this.#load(id, organization);
    this.#known.set(id, { atMs: now, client });
    return client;
  }

  async #load(id: string, organization: string): Promise<McpClient> {
    const url = URL.parse(id);
    const isPlain = url !== null && url.href === id && url.pathname !== "/" && url.hash === "" &&
      url.username === "" && url.password === "";
    if (!isPlain) throw unknown("The client's id is not the address of a metadata document.");
    const answer = await this.ports.outbound.request({
      organization,
      method: "GET",
      url: id,
      headers: { accept: "application/json" },
      deadlineMs: DEADLINE_MS,
      keepBytes: DOCUMENT_BYTES_MAX,
    }).catch((error) => {
      if (!(error instanceof OutboundError)) throw error;
      const message = `The client's metadata document at ${url.host} cannot be fetched now.`;
      throw new Fault("UNAVAILABLE", message, { reason: error.kind }, { cause: error });
    });
    try {
      if (answer.status !== 200 || answer.truncated) throw new TypeError(`status ${answer.status}`);
      const document = Metadata.extend({ client_id: z.literal(id) }).parse(JSON.parse(answer.body));
      const { client_name = "", redirect_uris: redirectUris } = document;
      return { id, name: client_name || url.host, host: url.host, redirectUris };
    } catch (cause) {
      throw unknown(`The client's metadata document at ${url.host} is not usable.`, cause);
    }
  }
}

const unknown = (message: string, cause?: unknown) => {
  const issues = [{ path: "body.client_id", message: "must be a client that is known here" }];
  return new Fault("VALIDATION_FAILED", message, { issues }, { cause });
};
