import "../house_test.ts";
import "../pages_test.ts";
import "../tidy_test.ts";
import { loadTests } from "../load_tests.ts";

await loadTests(
  "bench",
  "cli",
  "client",
  "codec",
  "context",
  "growth",
  "ports",
  "protocol",
  "work",
);
