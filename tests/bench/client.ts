/** What a benchmark needs of a relay's interface. */
export interface Tenant {
  readonly token: string;
  readonly key: string;
  readonly agentId: string;
}

const json = { "content-type": "application/json" };

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const init = { method: "POST", body: JSON.stringify(body), headers: { ...json, ...headers } };
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url} answered ${response.status} ${await response.text()}`);
  return await response.json();
}

/** An organization with a key. */
export async function signUp(base: string, n: number): Promise<{ token: string; key: string }> {
  const account = { email: `bench${n}@example.com`, password: "benchmark", organization: `B${n}` };
  const { token } = await post(`${base}/api/v1/signup`, account);
  const scopes = ["agents:admin", "agents:read", "agents:write"];
  const made = await post(`${base}/api/v1/api-keys`, { name: "bench", scopes }, {
    authorization: `Bearer ${token}`,
  });
  return { token, key: made.key };
}

/** Resolves when the relay has noticed that an agent is gone: that is a row of the log too. */
export async function untilOffline(base: string, token: string, id: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  for (let status = ""; status !== "offline";) {
    const response = await fetch(`${base}/api/v1/agents/${id}`, { headers });
    if (!response.ok) throw new Error(await response.text());
    ({ status } = await response.json());
  }
}

/** How many events the organization's log holds. */
export async function logLength(base: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${base}/api/audit?limit=1`, { headers });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).pagination.total;
}
