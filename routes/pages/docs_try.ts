import { exampleOf } from "./docs_schema.ts";
import { type Html, markup, type Part } from "./html.ts";
import type { JsonSchema, OpenApi, Operation, Parameter, Ref } from "../openapi/types.ts";

/** One endpoint of the document. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The parameters of an operation, with pointers resolved. */
export function parametersOf(document: OpenApi, operation: Operation): readonly Parameter[] {
  return operation.parameters.map((parameter) =>
    "$ref" in parameter ? document.components.parameters[lastOf(parameter)]! : parameter
  );
}

/** The name of the component that a pointer points to. */
export const lastOf = ({ $ref }: Ref): string => $ref.split("/").at(-1)!;

/** A command to copy into a terminal, and for reads a form that calls this server. */
export function trySection(document: OpenApi, endpoint: Endpoint): Html {
  const { method, path, operation } = endpoint;
  const parameters = parametersOf(document, operation);
  const tries = method === "GET" && operation["x-effect"] === "read";
  const command = markup`
<div class="bar"><h4>curl</h4>
<button type="button" class="copy" aria-label="Copy the curl command">Copy</button></div>
<pre tabindex="0" aria-label="curl command"><code>${curl(document, endpoint)}</code></pre>`;
  const inputs = parameters.map((parameter) => input(operation.operationId, parameter));
  const fill = markup`
<details${tries && markup` open`}><summary>Fill in</summary>${inputs}</details>`;
  const send = markup`
<button type="submit" class="send">Send</button>
<div class="answer" role="status" hidden><p class="result"></p>
<pre tabindex="0" aria-label="Response body"></pre></div>`;
  const auth = operation.security.length > 0 ? "yes" : "no";
  return markup`<form class="try" data-path="${path}" data-auth="${auth}">
${command}${inputs.length > 0 && fill}${tries && send}
</form>`;
}

function input(id: string, { name, in: place, required, schema }: Parameter): Html {
  const at = `${id}-${place}-${name}`;
  return markup`<label for="${at}"><span>${name}</span> ${
    control(schema, markup`id="${at}" name="${name}" data-in="${place}"${required && " required"}`)
  }</label>`;
}

function control(schema: JsonSchema, attributes: Html): Html {
  if (schema.enum !== undefined) {
    const options = schema.enum.map((value) => markup`<option>${String(value)}</option>`);
    return markup`<select ${attributes}><option value=""></option>${options}</select>`;
  }
  const usual = schema.default === undefined ? "" : String(schema.default);
  return markup`<input ${attributes} autocomplete="off" spellcheck="false" placeholder="${usual}">`;
}

/** The command; the script replaces its address and headers from the form. */
function curl(document: OpenApi, { method, path, operation }: Endpoint): Html {
  const needed = parametersOf(document, operation).filter((parameter) => parameter.required);
  const query = needed.filter((parameter) => parameter.in === "query")
    .map(({ name }) => `${name}={${name}}`).join("&");
  const address = `"$RELAY_URL${path}${query && `?${query}`}"`;
  const verb = method === "GET" ? "" : ` -X ${method}`;
  const lines: Part[] = [markup`curl -sS${verb} <span class="url">${address}</span>`];
  if (operation.security.length > 0) lines.push(`-H "Authorization: Bearer $RELAY_TOKEN"`);
  const body = operation.requestBody?.content["application/json"];
  if (body !== undefined) {
    const value = JSON.stringify(exampleOf(document, body.schema), null, 2);
    lines.push(`-H "Content-Type: application/json"`, `-d ${singleQuoted(value)}`);
  }
  if (operation["x-effect"] === "upgrade") {
    lines.push(
      `-H "Connection: Upgrade" -H "Upgrade: websocket"`,
      `-H "Sec-WebSocket-Version: 13" -H "Sec-WebSocket-Key: $(openssl rand -base64 16)"`,
      ...needed.filter(({ in: place }) => place === "header")
        .map(({ name, schema }) => `-H "${name}: ${schema.enum?.[0]}"`),
    );
  }
  const command = lines.map((line, i) => [i > 0 && " \\\n  ", line]);
  return markup`${command}<span class="headers"></span>`;
}

const singleQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
