import { constraints, fieldList, typeName } from "./docs_schema.ts";
import { type Endpoint, lastOf, parametersOf, trySection } from "./docs_try.ts";
import { type Html, inline, markup, type Part, prose } from "./html.ts";
import type {
  ApiResponse,
  Example,
  MediaType,
  OpenApi,
  Operation,
  Parameter,
  Ref,
} from "../openapi/types.ts";

/** The section of one endpoint, with a form to try it. */
export function operationSection(document: OpenApi, endpoint: Endpoint): Html {
  const { method, path, operation } = endpoint;
  const { operationId: id, summary, description } = operation;
  return markup`
<article class="operation" id="${id}" aria-labelledby="${id}-title" data-search="${
    words(endpoint)
  }">
<header>
<h3 id="${id}-title"><a href="#${id}">${inline(summary)}</a></h3>
<p class="endpoint">${methodMark(method)} <code>${breakable(path)}</code></p>
<p class="badges">${badges(operation)}</p>
</header>
<div class="columns">
<div class="text">
${prose(description)}
${parameterSection(document, operation)}
${bodySection(document, operation)}
${responseSection(document, operation)}
</div>
<div class="aside">
${trySection(document, endpoint)}
</div>
</div>
</article>`;
}

/** A method with its colour. */
export const methodMark = (method: string): Html =>
  markup`<span class="method ${method.toLowerCase()}">${method}</span>`;

/** A list of codes with their meanings. */
export function definitions(rows: readonly (readonly [term: Part, meaning: Part])[]): Html {
  const lines = rows.map(([term, meaning]) => markup`<dt>${term}</dt><dd>${meaning}</dd>`);
  return markup`<dl class="codes">${lines}</dl>`;
}

/** A name in the code font. */
export const code = (name: string): Html => markup`<code>${name}</code> `;

function badges({ operationId, security, ...operation }: Operation): Part {
  const scopes = operation["x-required-scopes"];
  const effect = operation["x-effect"];
  const asked = security[0];
  const open = asked === undefined || Object.keys(asked).length === 0;
  return [
    markup`<code class="badge">${operationId}</code>`,
    open && markup`<span class="badge public">public</span>`,
    !open && !scopes && markup`<span class="badge">signed in</span>`,
    scopes?.map((scope) => markup`<span class="badge scope">${scope}</span>`),
    operation["x-host-only"] && markup`<span class="badge">host organization</span>`,
    operation["x-live-only"] && markup`<span class="badge">live space</span>`,
    markup`<span class="badge">${EFFECTS[effect] ?? effect}</span>`,
    operation["x-mcp-tool"] && markup`<span class="badge">MCP tool</span>`,
  ];
}

const EFFECTS: Readonly<Record<string, string>> = {
  read: "reads",
  write: "writes",
  steps: "acts",
  upgrade: "WebSocket",
  protocol: "JSON-RPC",
};

function parameterSection(document: OpenApi, operation: Operation): Part {
  const parameters = parametersOf(document, operation);
  if (parameters.length === 0) return null;
  return markup`<h4>Parameters</h4><ul class="fields">${parameters.map(parameterItem)}</ul>`;
}

function parameterItem({ name, in: place, required, description, schema }: Parameter): Html {
  return markup`<li><p class="head"><code class="name">${name}</code>
<span class="type">${place}, ${typeName(schema)}</span>
${required && markup`<span class="required">required</span>`}</p>
${description !== undefined && prose(description)}${constraints(schema)}</li>`;
}

function bodySection(document: OpenApi, operation: Operation): Part {
  const body = operation.requestBody;
  if (body === undefined) return null;
  const bytes = operation["x-body-bytes-max"] ?? 0;
  const limit = `at most ${bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`}`;
  return markup`<h4>Body</h4>
<p>JSON, ${limit}${!body.required && "; may be left out"}.</p>
${
    Object.values(body.content).map(({ schema }) =>
      fieldList(document, schema) ?? markup`<p>An empty object.</p>`
    )
  }`;
}

function responseSection(document: OpenApi, operation: Operation): Html {
  const items = Object.entries(operation.responses).map(([status, response]) =>
    responseItem(document, status, responseOf(document, response))
  );
  return markup`<h4>Responses</h4>${items}`;
}

function responseItem(document: OpenApi, status: string, response: ApiResponse): Html {
  const { description, content = {}, headers = {} } = response;
  const media = Object.entries(content);
  const faults: readonly (readonly [string, Example])[] = media.flatMap(([, { examples = {} }]) =>
    Object.entries(examples)
  );
  const failed = faults.length > 0;
  const kind = failed ? "bad" : "good";
  const types = media.map(([, { schema }]) => typeName(schema)).filter((name) => name !== "any");
  const outcome = markup`${description} <span class="type">${
    [...new Set(types)].join(", ")
  }</span>`;
  return markup`<details class="response">
<summary><span class="status ${kind}">${status}</span>
${failed ? faults.map(([name]) => code(name)) : outcome}</summary>
${
    failed
      ? definitions(faults.map(([name, { summary }]) => [code(name), summary]))
      : media.map(([type, shape]) => mediaSection(document, type, shape))
  }
<p class="limits"><span>headers ${Object.keys(headers).map(code)}</span></p></details>`;
}

function mediaSection(document: OpenApi, type: string, { schema }: MediaType): Html {
  return markup`<p>${code(type)}<span class="type">${typeName(schema)}</span></p>${
    fieldList(document, schema)
  }`;
}

function responseOf(document: OpenApi, response: ApiResponse | Ref): ApiResponse {
  return "$ref" in response ? document.components.responses[lastOf(response)]! : response;
}

const breakable = (path: string): Part =>
  path.split("/").map((part, i) => i > 0 ? markup`/<wbr>${part}` : part);

/** The text that the search box searches. */
function words({ method, path, operation }: Endpoint): string {
  const scopes = operation["x-required-scopes"] ?? [];
  return [method, path, operation.operationId, operation.summary, ...scopes].join(" ")
    .toLowerCase();
}
