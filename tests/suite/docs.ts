import { loadTests } from "../load_tests.ts";

await loadTests("docs");
