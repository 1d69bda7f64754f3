/** Commands load this when they print YAML. A chunk of the package alone would lose its names: it is CommonJS. */
export { stringify } from "yaml";
