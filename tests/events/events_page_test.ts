import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { eventsPage } from "../support/events_page.ts";
import { OWN_EVENTS } from "../../core/events/emit.ts";

const page = await Deno.readTextFile(new URL("../../docs/audit-events.md", import.meta.url));

Deno.test("docs/audit-events.md: equals the output of deno task docs", () => {
  eq(page, eventsPage());
});

Deno.test("docs/audit-events.md: shows meaning, schema and example of every event and no other", () => {
  const [, ...sections] = page.split(/^## (?=`)/m);
  const types = sections.map((section) => section.match(/^`(\w+)`\n/)?.[1]);
  deq(types, Object.keys(OWN_EVENTS).sort());
  for (const [at, type] of types.entries()) {
    const { meaning, details, example } = OWN_EVENTS[type!]!;
    const [schema, shown, ...others] = [...sections[at]!.matchAll(/```json\n(.*?)\n```/gs)]
      .map(([, json]) => JSON.parse(json!));
    const fields = Object.entries(details.shape);
    const needed = fields.filter(([, field]) => !field.safeParse(undefined).success);
    deq(Object.keys(schema.properties), fields.map(([name]) => name), type);
    deq(schema.required ?? [], needed.map(([name]) => name), type);
    eq(schema.additionalProperties, false, type);
    for (const [name, field] of fields) {
      const shownAs = schema.properties[name].description;
      eq(shownAs, field.description ?? shownAs, `${type}.${name}`);
    }
    deq(shown, example, type);
    eq(others.length, 0, type);
    ok(sections[at]!.startsWith(`\`${type}\`\n\n${meaning}\n`), type);
    ok(page.includes(`| [\`${type}\`](#${type}) | ${meaning} | `), type);
  }
});
