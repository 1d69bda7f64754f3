import { z } from "zod";
import { type OauthClient, service, type ServiceRequest } from "../service.ts";
import { CLIENT, exactlyOne, SecretText, Server } from "./fields.ts";
import { basicAuth } from "../../../codec/codec.ts";

interface Forge {
  readonly name: string;
  readonly description: string;
  /** The default server. */
  readonly home: string;
  /** The user name that accompanies a token in Git over HTTPS. */
  readonly username: string;
  readonly scopes: readonly string[];
  readonly oauth: (url: string) => Pick<OauthClient, "issuer" | "endpoints">;
  readonly revoke?: (
    client: { readonly url: string; readonly id: string; readonly secret: string },
    accessToken: string,
  ) => ServiceRequest;
}

/** Credentials for repositories over HTTPS: a token or OAuth. */
const forge = ({ name, description, home, username, scopes, oauth, revoke }: Forge) =>
  service({
    name,
    description,
    category: "repositories",
    config: z.strictObject({
      url: Server.prefault(home).describe("The server's address."),
      token: SecretText.optional().describe("An access token that can read the repositories."),
      ...CLIENT,
    }).refine(
      ({ token, client_id }) => exactlyOne(token, client_id),
      "give either token or client_id",
    ).refine(
      ({ client_id, client_secret }) => (client_id === undefined) === (client_secret === undefined),
      "client_id and client_secret go together",
    ),
    secrets: ["token", "client_secret"],
    oauth: ({ url, client_id, client_secret }) =>
      client_id === undefined ? null : {
        ...oauth(url),
        clientId: client_id,
        clientSecret: client_secret ?? null,
        authentication: "client_secret_post",
        scopes,
      },
    repository: ({ url, token = null }) => ({
      host: new URL(url).host,
      username,
      password: token,
    }),
    revoke: ({ url, client_id, client_secret }, accessToken) =>
      revoke === undefined || client_id === undefined || client_secret === undefined ||
        accessToken === null
        ? null
        : revoke({ url, id: client_id, secret: client_secret }, accessToken),
  });

export const github = forge({
  name: "GitHub",
  description: "Supplies credentials for repositories on GitHub or GitHub Enterprise.",
  home: "https://github.com",
  username: "x-access-token",
  scopes: ["repo"],
  oauth: (url) => ({
    issuer: `${url}/login/oauth`,
    endpoints: {
      authorization: `${url}/login/oauth/authorize`,
      token: `${url}/login/oauth/access_token`,
    },
  }),
  revoke: ({ url, id, secret }, access_token) => ({
    method: "DELETE",
    url: `${apiOf(url)}/applications/${encodeURIComponent(id)}/token`,
    headers: {
      accept: "application/vnd.github+json",
      authorization: basicAuth(id, secret),
      "content-type": "application/json",
      "user-agent": "relay",
    },
    body: JSON.stringify({ access_token }),
  }),
});

export const gitlab = forge({
  name: "GitLab",
  description: "Supplies credentials for repositories on GitLab.",
  home: "https://gitlab.com",
  username: "oauth2",
  scopes: ["read_repository"],
  oauth: (url) => ({
    issuer: url,
    endpoints: {
      authorization: `${url}/oauth/authorize`,
      token: `${url}/oauth/token`,
      revocation: `${url}/oauth/revoke`,
    },
  }),
});

export const gitea = forge({
  name: "Gitea",
  description: "Supplies credentials for repositories on Gitea or Forgejo.",
  home: "https://gitea.com",
  username: "oauth2",
  scopes: ["read:repository"],
  oauth: (url) => ({
    issuer: url,
    endpoints: {
      authorization: `${url}/login/oauth/authorize`,
      token: `${url}/login/oauth/access_token`,
    },
  }),
});

/** The API of github.com has its own host name; GitHub Enterprise serves it under a path. */
const apiOf = (url: string): string =>
  url === "https://github.com" ? "https://api.github.com" : `${url}/api/v3`;
