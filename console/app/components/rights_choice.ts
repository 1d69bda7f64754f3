import { html } from "htm/preact";
import { may } from "../session.ts";
import { CheckGroups } from "./inputs.ts";
import { scopeGroups, useScopes } from "./scopes.ts";
import { Failure, Loading } from "./states.ts";

/** Rights to choose from: those that the viewer may give, and those that are there already. */
export function RightsChoice({ chosen, present = [], without, onChange }: {
  readonly chosen: readonly string[];
  readonly present?: readonly string[];
  /** A right that cannot be chosen here. */
  readonly without?: string | undefined;
  readonly onChange: (chosen: readonly string[]) => void;
}) {
  const { data, error, again } = useScopes();
  if (data === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  const groups = scopeGroups(
    data,
    (scope) => may(scope) && scope !== without || present.includes(scope),
  );
  return html`
    <${CheckGroups} legend="Rights" chosen=${chosen} onChange=${onChange} groups=${groups} />
  `;
}
