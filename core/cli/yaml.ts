/** Loaded by commands that print YAML. The package itself is CommonJS, which loses its named exports in a chunk of its own. */
export { stringify } from "yaml";
