import { uniform } from "@exrp/replay";
import { conforms } from "./conforms.ts";

conforms({ name: "uniform()", make: uniform, stationary: true });
