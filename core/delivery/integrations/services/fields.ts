import { z } from "zod";
import { TOPIC_NAMES, type TopicName } from "../topics.ts";

/** A secret that fits into a header or a path. */
export const SecretText = z.string().regex(
  /^[\x21-\x7e]{1,4096}$/,
  "must be 1 to 4096 visible characters",
);

/** A URL without user and password. */
export const Address = z.url({ protocol: /^https?$/ }).max(2048)
  .refine((text) => URL.parse(text)?.username === "", "must not hold a user name or a password");

/** The base URL of a server, without a trailing slash. */
export const Server = Address.transform((text) => text.replace(/\/+$/, ""));

/** A short text without control characters. */
export const Short = z.string().regex(
  /^[^\p{Cc}\p{Cs}]{1,200}$/u,
  "must be 1 to 200 printable characters",
);

/** The topics that the integration subscribes to. */
export const Topics = (first: readonly TopicName[]) =>
  z.array(z.enum(TOPIC_NAMES)).max(TOPIC_NAMES.length).default([...first])
    .describe("The topics whose events it receives.");

/** The OAuth client. */
export const CLIENT = {
  client_id: Short.optional().describe("The OAuth client's id at the provider."),
  client_secret: SecretText.optional().describe("The OAuth client's secret at the provider."),
};

/** True when exactly one of these values is defined. */
export const exactlyOne = (...ways: readonly unknown[]): boolean =>
  ways.filter((way) => way !== undefined).length === 1;
