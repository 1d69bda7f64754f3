import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { rootsOf, sbomOf, sbomText } from "./sbom.ts";

const SCHEMAS = new URL("../fixtures/cyclonedx/", import.meta.url);

const schemaOf = async (name: string) =>
  JSON.parse(
    new TextDecoder().decode(
      gunzipSync(await Deno.readFile(new URL(`${name}.schema.json.gz`, SCHEMAS))),
    ),
  );

async function validator() {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // No field that this program writes has these formats.
  for (const name of ["idn-email", "iri-reference"]) ajv.addFormat(name, true);
  ajv.addSchema(await schemaOf("spdx"), "http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json");
  ajv.addSchema(
    await schemaOf("jsf-0.82"),
    "http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json",
  );
  return ajv.compile(await schemaOf("bom-1.6"));
}

Deno.test("sbom: the bill of materials is valid CycloneDX 1.6 and the same each time", async () => {
  const text = await sbomText();
  const sbom = JSON.parse(text);
  const validate = await validator();
  deq([validate(sbom), validate.errors], [true, null]);
  eq(validate({ ...sbom, components: [{ name: "nothing else" }] }), false);
  eq(await sbomText(), text);
});

Deno.test("sbom: lists what the program imports with the digests of the lock file, and no tool of the tests", async () => {
  const roots = await rootsOf("main.ts");
  const { components, dependencies } = sbomOf(roots, "2.9.6", null);
  const names = components.map((component) => component["bom-ref"]);
  for (const root of roots) ok(names.includes(root), root);
  for (const tool of ["ajv", "axe-core", "playwright-core"]) {
    ok(!names.some((name) => name.startsWith(`${tool}@`)), tool);
  }
  deq(dependencies.map(({ ref }) => ref).slice(1).sort(), names.toSorted());
  const hono = components.find(({ name }) => name === "hono")!;
  const lock = JSON.parse(await Deno.readTextFile("deno.lock"));
  const { integrity } = lock.npm[hono["bom-ref"]];
  ok("hashes" in hono);
  eq(`sha512-${Uint8Array.fromHex(hono.hashes[0]!.content).toBase64()}`, integrity);
});
