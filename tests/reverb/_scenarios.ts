/** The recorded scenarios of `scenarios.py`, and the tables that they use. */
import { plainTable, type RealTable } from "../../bench/reverb/_real_server.ts";

const fifo = { kind: "fifo" } as const;

/** The tables of all recordings. */
export const tables: readonly RealTable[] = [
  plainTable("queue", {
    sampler: fifo,
    max_times_sampled: 1,
    rateLimiter: { kind: "queue", size: 100 },
    max_size: 100,
  }),
  plainTable("fifo", { sampler: fifo, max_size: 100 }),
  plainTable("other", { sampler: { kind: "lifo" }, max_size: 3 }),
  plainTable("heap", {
    sampler: { kind: "max_heap" },
    remover: { kind: "min_heap" },
    rateLimiter: {
      kind: "sample_to_insert_ratio",
      samples_per_insert: 2,
      min_size: 1,
      error_buffer: 50,
    },
  }),
  plainTable("signed", {
    sampler: fifo,
    max_times_sampled: 1,
    signature: [{ dtype: "float32", shape: [2] }, { dtype: "int32", shape: [] }],
  }),
];

/** The scenarios of `scenarios.py`. */
export const scenarios: readonly string[] = [
  ...["insert", "legacy_writer", "trajectory_writer", "structured_writer", "sample"],
  ...["timestep_dataset", "trajectory_dataset", "from_table_signature", "tf_client", "mutate"],
  ...["reset", "server_info", "checkpoint", "timeout", "cancels", "unknown_table"],
];
