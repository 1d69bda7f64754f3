import { render } from "preact";
import { App } from "./app.ts";
import { html } from "htm/preact";
import { startKeys } from "./keys.ts";
import { startRouter } from "./router.ts";

startRouter();
startKeys();
render(html`<${App} />`, document.getElementById("app")!);
