import { call, type Scope } from "../../../api.ts";
import type { Choices } from "../../../components/scopes.ts";
import { CheckGroups } from "../../../components/inputs.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";

/** Event types to choose from. Those that the viewer may not read are left out, unless they are chosen already. */
export function EventChoice({ chosen, onChange }: {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}) {
  const { data, error, again } = useData(
    (signal) => call("webhooks.event_types", { signal }),
    [],
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return html`<${Loading} />`;
  const groups = new Map<string, Choices["options"]>();
  for (const { name, category, description, scope } of data.event_types) {
    if (!may(scope as Scope) && !chosen.includes(name)) continue;
    groups.set(category, [...groups.get(category) ?? [], { value: name, about: description }]);
  }
  return html`
    <${CheckGroups} legend="Events" chosen=${chosen} onChange=${onChange}
      groups=${[...groups].map(([title, options]) => ({ title, options }))} />
  `;
}
