import type { z } from "zod";
import type { EventRow } from "../../events/events.ts";
import type { OutboundRequest, OutboundResponse } from "../../ports/ports.ts";
import type { TopicName } from "./topics.ts";

/** A request to a service. The sender adds the deadline and the size limit. */
export type ServiceRequest = Pick<OutboundRequest, "method" | "url" | "headers" | "body">;

/** What a service formats its request from. */
export interface Notification {
  readonly message: Message;
  readonly event: EventRow;
  /** The OAuth access token, if there is one. */
  readonly accessToken: string | null;
  readonly nowMs: number;
}

/** A message about an event, before a service formats it. */
export interface Message {
  readonly topic: TopicName;
  /** Holds text of users, like the values of facts: a service shows it literally, without markup or mentions. */
  readonly title: string;
  /** Names and values in order. */
  readonly facts: readonly (readonly [string, string])[];
  readonly severity: Severity;
  /** What the message is about; at least one. */
  readonly subjects: readonly Subject[];
  /** True when every subject is resolved. */
  readonly resolved: boolean;
  /** The blocked process that needs a decision. */
  readonly pid: string | null;
  /** The page that explains how to act. */
  readonly link: string;
}

type Severity = "info" | "warning" | "critical";

/** One approval, alert or report, which several messages may be about until it is resolved. */
export interface Subject {
  /** Identical in all messages about it. For the topic `alerts` it is the alert's id. */
  readonly key: string;
  readonly resolved: boolean;
  /** One line. */
  readonly summary: string;
  readonly severity: Severity;
}

/** The client at an OAuth provider and the provider's endpoints. */
export interface OauthClient {
  /** Metadata is fetched from here when `endpoints` is null. */
  readonly issuer: string;
  readonly endpoints: {
    readonly authorization: string;
    readonly token: string;
    readonly revocation?: string | undefined;
  } | null;
  readonly clientId: string;
  /** Null for a public client, which relies on PKCE. */
  readonly clientSecret: string | null;
  readonly authentication: "client_secret_basic" | "client_secret_post";
  readonly scopes: readonly string[];
  /** Additional parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Credentials for Git over HTTPS. */
export interface RepositoryAccess {
  readonly host: string;
  readonly username: string;
  /** Null when the OAuth access token is the password. */
  readonly password: string | null;
}

/** A service of the catalog. */
export interface Service<Shape extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly category: "chat" | "incidents" | "issues" | "repositories" | "generic";
  readonly config: Shape;
  /** Configuration fields that are sealed in the store and masked in responses. */
  readonly secrets: readonly (keyof z.output<Shape> & string)[];
  /** Null when this configuration does not use OAuth. */
  readonly oauth?: (config: z.output<Shape>) => OauthClient | null;
  /**
   * The requests that send a notification; null when this configuration sends none. If one of several fails,
   * all are sent again.
   */
  readonly notify?: (
    config: z.output<Shape>,
    notification: Notification,
  ) => ServiceRequest | readonly ServiceRequest[] | null;
  /** Why a 2xx response is an error nevertheless, or null. */
  readonly refusal?: (
    response: OutboundResponse,
    to: "message" | "revocation",
  ) => string | null;
  /** The request that revokes a token by the provider's own API, used instead of RFC 7009. */
  readonly revoke?: (
    config: z.output<Shape>,
    accessToken: string | null,
  ) => ServiceRequest | null;
  readonly repository?: (config: z.output<Shape>) => RepositoryAccess | null;
}

/** Checks a service's functions against its schema, then erases the type for the catalog. */
export function service<Shape extends z.ZodObject>(row: Service<Shape>): Service {
  return row as unknown as Service;
}

/** A POST request with a JSON body. */
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

/** Limits a text to `max` characters, with `…` at the end when it was cut. */
export function cut(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}

/** Escapes a text for HTML and limits the result to `max` characters. */
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
