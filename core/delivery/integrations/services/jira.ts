import { z } from "zod";
import { cut, jsonRequest, type Message, service } from "../service.ts";
import { CLIENT, exactlyOne, SecretText, Server, Short, Topics } from "./fields.ts";
import { basicAuth } from "../../../codec/codec.ts";

const SUMMARY_MAX = 255;
/** A description may have 32,767 characters. */
const VALUE_MAX = 2500;

/** Opens an issue for each message unless its subjects are resolved, by an API token or OAuth. */
export const jira = service({
  name: "Jira",
  description: "Opens an issue in a project of Jira Cloud.",
  category: "issues",
  config: z.strictObject({
    url: Server.optional().describe("The site, such as https://example.atlassian.net."),
    email: z.email().optional().describe("The email of the API token's account."),
    api_token: SecretText.optional(),
    cloud_id: z.string().regex(/^[\w-]{1,64}$/).optional().describe("The site's id, for OAuth."),
    ...CLIENT,
    project: z.string().regex(/^[A-Z][A-Z0-9_]{1,19}$/, "must be a project key, such as OPS"),
    issue_type: Short.default("Task"),
    topics: Topics(["alerts", "reports"]),
  }).refine(
    ({ api_token, client_id }) => exactlyOne(api_token, client_id),
    "give either api_token or client_id",
  ).refine(
    ({ api_token, url, email }) =>
      api_token === undefined || url !== undefined && email !== undefined,
    "an api_token needs the url and the email",
  ).refine(
    ({ client_id, client_secret, cloud_id }) =>
      client_id === undefined || client_secret !== undefined && cloud_id !== undefined,
    "a client_id needs the client_secret and the cloud_id",
  ),
  secrets: ["api_token", "client_secret"],
  oauth: ({ client_id, client_secret }) =>
    client_id === undefined ? null : {
      issuer: "https://auth.atlassian.com",
      endpoints: {
        authorization: "https://auth.atlassian.com/authorize",
        token: "https://auth.atlassian.com/oauth/token",
      },
      clientId: client_id,
      clientSecret: client_secret ?? null,
      authentication: "client_secret_post",
      scopes: ["write:jira-work", "offline_access"],
      parameters: { audience: "api.atlassian.com", prompt: "consent" },
    },
  notify({ url, email, api_token, cloud_id, project, issue_type }, { message, accessToken }) {
    if (message.resolved) return null;
    const issue = {
      fields: {
        project: { key: project },
        issuetype: { name: issue_type },
        summary: cut(message.title, SUMMARY_MAX),
        description: documentOf(message),
      },
    };
    if (api_token !== undefined) {
      const authorization = basicAuth(email!, api_token);
      return jsonRequest(`${url}/rest/api/3/issue`, issue, { authorization });
    }
    if (accessToken === null) return null;
    return jsonRequest(`https://api.atlassian.com/ex/jira/${cloud_id}/rest/api/3/issue`, issue, {
      authorization: `Bearer ${accessToken}`,
    });
  },
});

/** The Atlassian Document Format: one paragraph for each fact, then the link. */
function documentOf({ facts, link }: Message) {
  const paragraph = (content: readonly unknown[]) => ({ type: "paragraph", content });
  const marks = [{ type: "link", attrs: { href: link } }];
  return {
    type: "doc",
    version: 1,
    content: [
      ...facts.map(([name, value]) =>
        paragraph([{ type: "text", text: `${name}: ${cut(value, VALUE_MAX) || "–"}` }])
      ),
      paragraph([{ type: "text", text: "Open in Relay", marks }]),
    ],
  };
}
