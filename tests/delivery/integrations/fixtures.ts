import { type Account, type Answer, World } from "../../support/world.ts";

export const INTEGRATIONS = "/api/integrations";

/** Requests an installation. */
export const install = (
  world: World,
  { token: as }: Account,
  type: string,
  config: Record<string, unknown>,
): Promise<Answer> => world.call("POST", INTEGRATIONS, { as, body: { type, config } });

/** Installs an integration and returns its id. */
export async function installed(
  world: World,
  account: Account,
  type: string,
  config: Record<string, unknown>,
): Promise<string> {
  const answer = await install(world, account, type, config);
  if (answer.status !== 201) throw new Error(`installing answered ${answer.text}`);
  return answer.body.id;
}

/** An integration as the list shows it. */
export async function shown(world: World, { token: as }: Account, id: string) {
  const { body } = await world.call("GET", `${INTEGRATIONS}?limit=200`, { as });
  return body.integrations.find((each: { id: string }) => each.id === id);
}

/** The JSON requests to URLs with this prefix. */
export const sentTo = (world: World, beginning: string) =>
  world.network.sent.filter(({ url }) => url.startsWith(beginning)).map((request) => ({
    ...request,
    json: JSON.parse(String(request.body)),
  }));
