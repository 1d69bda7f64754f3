/** One isolate as a worker: the platform, then the program. */
import "./platform.ts";
import "../../main.ts";
