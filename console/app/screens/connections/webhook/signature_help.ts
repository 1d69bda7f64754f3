import { useState } from "preact/hooks";
import { Copy } from "../../../components/copy.ts";
import { SelectField } from "../../../components/inputs.ts";
import { html } from "htm/preact";
import { SNIPPETS } from "./signature_snippets.ts";

/** How a receiver checks that a delivery comes from this relay. */
export function SignatureHelp() {
  const [language, setLanguage] = useState<keyof typeof SNIPPETS>("Node");
  return html`
    <details class="card">
      <summary>Verify the signature</summary>
      <p>
        Verify the raw body before you parse it. The function checks the header${" "}
        <code>webhook-signature</code>, which covers the time, so a recorded request cannot be
        sent again later. Header names are in lower case.
      </p>
      <${SelectField} label="Language" value=${language} options=${Object.keys(SNIPPETS)}
        onChange=${setLanguage} />
      <${Copy} text=${SNIPPETS[language]} />
    </details>
  `;
}
