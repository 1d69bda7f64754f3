import { loadTests } from "../load_tests.ts";

// Alone, because it replaces functions of the runtime.
await loadTests("simulation");
