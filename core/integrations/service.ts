import type { z } from "zod";
import type { EventRow } from "../events/events.ts";
import type { OutboundRequest, OutboundResponse } from "../ports/ports.ts";
import type { TopicName } from "./messages.ts";

/** A request as a service wants it; deadline and size of the answer are the sender's matter. */
export type ServiceRequest = Pick<OutboundRequest, "method" | "url" | "headers" | "body">;

/** What a message is written from. */
export interface Telling {
  readonly message: Message;
  readonly event: EventRow;
  /** What OAuth brought, when it did. */
  readonly accessToken: string | null;
  readonly nowMs: number;
}

/** What people are told, before a service gives it its form. */
export interface Message {
  readonly topic: TopicName;
  readonly title: string;
  /** Names and values, in order. */
  readonly facts: readonly (readonly [string, string])[];
  readonly severity: Severity;
  /** What it is about, one by one; at least one. */
  readonly matters: readonly Matter[];
  /** True when every matter is over. */
  readonly over: boolean;
  /** The blocked process that waits for a decision. */
  readonly pid: string | null;
  /** Where one can look at it. */
  readonly link: string;
}

type Severity = "info" | "warning" | "critical";

/** One thing that people are told of until it is over. */
export interface Matter {
  /** The same whenever it is told of; of the topic `alerts`, the alert's id. */
  readonly key: string;
  readonly over: boolean;
  /** What it is, in a line. */
  readonly summary: string;
  readonly severity: Severity;
}

/** Where a provider takes what an OAuth flow sends, and what the client is there. */
export interface OauthClient {
  /** Metadata are looked up there when endpoints are missing. */
  readonly issuer: string;
  readonly endpoints: {
    readonly authorization: string;
    readonly token: string;
    readonly revocation?: string | undefined;
  } | null;
  readonly clientId: string;
  /** Null for a public client, which PKCE alone protects. */
  readonly clientSecret: string | null;
  readonly authentication: "client_secret_basic" | "client_secret_post";
  readonly scopes: readonly string[];
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Credentials for Git over HTTPS. */
export interface RepositoryAccess {
  readonly host: string;
  readonly username: string;
  /** Null when what OAuth brought is the password. */
  readonly password: string | null;
}

/** One row of the catalogue. */
export interface Service<Shape extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly category: "chat" | "incidents" | "issues" | "repositories" | "generic";
  readonly config: Shape;
  /** The fields of the configuration that are sealed, and masked on read. */
  readonly secrets: readonly (keyof z.output<Shape> & string)[];
  /** Null when this configuration needs no OAuth. */
  readonly oauth?: (config: z.output<Shape>) => OauthClient | null;
  /**
   * How a message is sent; null when this configuration or topic sends none. Of several requests all are
   * sent again when one fails.
   */
  readonly tell?: (
    config: z.output<Shape>,
    telling: Telling,
  ) => ServiceRequest | readonly ServiceRequest[] | null;
  /** Why a 2xx answer is a refusal all the same, or null. */
  readonly refusal?: (
    response: OutboundResponse,
    to: "message" | "revocation",
  ) => string | null;
  /** What revokes a token of the provider's own kind. Those of OAuth are revoked by RFC 7009. */
  readonly revoke?: (
    config: z.output<Shape>,
    accessToken: string | null,
  ) => ServiceRequest | null;
  readonly repository?: (config: z.output<Shape>) => RepositoryAccess | null;
}

/** Ties the functions of a row to its schema; the table forgets the type again. */
export function service<Shape extends z.ZodObject>(row: Service<Shape>): Service {
  return row as unknown as Service;
}

/** A JSON body and its header. */
export function jsonRequest(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): ServiceRequest {
  return {
    method: "POST",
    url,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
    body: JSON.stringify(body),
  };
}

/** At most so many characters, with a mark where it was cut. */
export function cut(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}

/** A text with the marks of HTML escaped, of at most `max` characters then. */
export function escaped(text: string, max: number): string {
  const whole = escape(text);
  if (whole.length <= max) return whole;
  let kept = "";
  for (const character of text) {
    const next = kept + escape(character);
    if (next.length >= max) break;
    kept = next;
  }
  return `${kept}…`;
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
