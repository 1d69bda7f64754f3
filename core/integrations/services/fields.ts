import { z } from "zod";
import { TOPIC_NAMES, type TopicName } from "../messages.ts";

/** A secret as a header or a path takes it. */
export const SecretText = z.string().regex(/^[\x21-\x7e]{1,4096}$/, "1 to 4096 visible characters");

/** An address that may be dialled as far as its spelling tells. */
export const Address = z.url({ protocol: /^https?$/ }).max(2048)
  .refine((text) => URL.parse(text)?.username === "", "no user and no password in it");

/** The address of a server, under which its paths lie. */
export const Server = Address.transform((text) => text.replace(/\/+$/, ""));

/** A short text without control characters. */
export const Short = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u, "1 to 200 printable characters");

/** What the integration is told of. */
export const Topics = (first: readonly TopicName[]) =>
  z.array(z.enum(TOPIC_NAMES)).max(TOPIC_NAMES.length).default([...first])
    .describe("What it is told of.");

/** What a flow of OAuth needs to know of the client. */
export const CLIENT = {
  client_id: Short.optional().describe("The client's id at the provider, for OAuth."),
  client_secret: SecretText.optional().describe("The client's secret at the provider."),
};

/** True when exactly one of these ways to sign in is there. */
export const exactlyOne = (...ways: readonly unknown[]): boolean =>
  ways.filter((way) => way !== undefined).length === 1;

/** The user and the password of HTTP Basic. */
export const basic = (user: string, password: string): string =>
  `Basic ${new TextEncoder().encode(`${user}:${password}`).toBase64()}`;
