const SCREENS: Readonly<Record<string, (id: string) => string>> = {
  agent: (id) => `/agents/${id}`,
  api_key: (id) => `/keys/${id}`,
  approval: (id) => `/approvals/${id}`,
  device: () => "/devices",
  integration: () => "/integrations",
  policy: (id) => `/policies/${id}`,
  user: (id) => `/people?person=${id}`,
  webhook: (id) => `/webhooks/${id}`,
};

/** The screen of a resource; null when it has none. */
export const screenOf = (type: string, id: string): string | null =>
  Object.hasOwn(SCREENS, type) ? SCREENS[type]!(encodeURIComponent(id)) : null;
