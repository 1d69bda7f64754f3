import program from "../../deno.json" with { type: "json" };

/** This program's version, as deno.json says. */
export const VERSION: string = program.version;
