import type { Scope, Suspension } from "../../../../core/client/client.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { html } from "htm/preact";
import { may } from "../../session.ts";

const REASONS: Readonly<Record<Suspension["reason"], string>> = {
  removed: "the person that it acts for is gone",
  inactive: "the person that it acts for is deactivated",
  rights: "the person that it acts for lacks rights that it needs",
};

/** Why something is suspended, and how to take it over. */
export function Suspended({ suspended, adopt, onAdopted }: {
  readonly suspended: Suspension;
  readonly adopt: () => Promise<unknown>;
  readonly onAdopted: () => void;
}) {
  const change = useChange();
  const run = () =>
    change.run(async () => {
      await adopt();
      onAdopted();
    });
  return html`
    <div role="status">
      <p class="warn">
        Suspended: ${REASONS[suspended.reason]}${suspended.missing.length > 0 &&
          html`: ${
            suspended.missing.map((right) =>
              html`
                <code>${right}</code>
              `
            )
          }`}.
      </p>
      <${ChangeError} change=${change} />
      ${[...suspended.missing, "system:write"].every((right) => may(right as Scope)) && html`
        <p><button type="button" disabled=${change.isBusy} onClick=${run}>
          Adopt it, so that it acts with my rights
        </button></p>
      `}
    </div>
  `;
}
