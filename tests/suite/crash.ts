import { loadTests } from "../load_tests.ts";

await loadTests("build", "crash", "soak");
