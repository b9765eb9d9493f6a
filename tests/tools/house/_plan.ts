/**
 * The plan of the house: what may import what. Who moves or adds a folder changes its line here, and nothing else in this folder.
 * `_directions.ts` holds the imports to it.
 */

/** The parts that each part of the library may import, besides itself. `doors` are the files behind the exports of deno.json. */
export const parts: Readonly<Record<string, readonly string[]>> = {
  "mod.ts": ["replay", "schema", "selectors", "eviction", "rate_limiters", "storage", "base"],
  "transforms.ts": ["schema"],
  "types.ts": ["replay", "schema", "rate_limiters", "storage"],
  replay: ["schema", "selectors", "eviction", "rate_limiters", "stats", "storage", "ffi", "base"],
  schema: ["selectors", "eviction", "rate_limiters", "ffi", "base"],
  // A native rule carries its number from the generated constants.
  selectors: ["ffi", "base"],
  eviction: ["ffi", "base"],
  rate_limiters: ["base"],
  returns: ["base"],
  // Small environments: of the library they know its random numbers only.
  envs: ["selectors", "base"],
  // What stats() returns, and its picture: pure data.
  stats: ["rate_limiters", "base"],
  // The kernels that a release carries. A clone that was built has the one of WebAssembly only.
  ffi: ["base", "prebuilt"],
  base: [],
  // Frames with checksums in bytes, files, streams and folders, whatever they are of.
  storage: ["ffi", "base"],
  // New rows, which the kernel packs, strings, and single fields of messages.
  wire: ["ffi", "base"],
  // Reverb's messages, and what speaks them.
  reverb: ["wire", "rate_limiters", "ffi", "base"],
  // Tables that many clients write to and sample from, in the kernel.
  tables: ["reverb", "wire", "selectors", "rate_limiters", "storage", "ffi", "base"],
  // HTTP and gRPC by hand, which knows nothing of what it carries.
  net: ["base"],
  server: [
    ...["tables", "reverb", "wire", "net", "selectors", "rate_limiters", "storage", "ffi", "base"],
  ],
  // What actors in threads of their own need stands above the library.
  actors: ["mod.ts", "replay", "schema", "base"],
  // What a learner and an actor hold, wherever the experience is, stands above all of these places.
  learner: ["actors", "mod.ts", "replay", "tables", "reverb", "schema", "base"],
  // Experience on many machines stands above a learner's interface.
  shards: [
    ...[
      "learner",
      "mod.ts",
      "replay",
      "selectors",
      "rate_limiters",
      "schema",
      "storage",
      "ffi",
      "base",
    ],
  ],
  // Columns on a device stand above the replay, whose batches they are parts of.
  gpu: ["replay", "schema", "ffi", "base"],
  // Weights and actions for actors on many machines go over the connections of shards.
  fleet: [
    ...["shards", "actors", "learner", "mod.ts", "replay", "storage", "schema", "ffi", "base"],
  ],
  // Episodes in files of other libraries, and the command stand above the library. A snapshot's schema is the replay's own.
  interchange: [
    ...["mod.ts", "replay", "stats", "schema", "eviction", "storage", "wire", "ffi", "base"],
  ],
  // The test kit for users' rules stands above the library. From the other parts it imports only their checks of
  // arguments.
  testing: ["mod.ts", "selectors", "eviction", "base"],
  examples: ["doors"],
  // Of the tools only what finds files and compilers, and the version for its results: what it measures goes through the public face.
  // And HTTP/2, which has no public face, and what draws the pictures of the examples.
  bench: ["doors", "net", "tools", "examples", "deno.json"],
};

/**
 * Within a part, what each room may import of the others, the highest first: a room knows only rooms below it. A room is a folder of the
 * part, or a file that is in no folder.
 */
export const rooms: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  replay: {
    "experience_replay.ts": [
      ...[
        "replay_view.ts",
        "append",
        "durable",
        "share",
        "snapshot",
        "update",
        "read",
        "draw",
        "record",
        "register",
        "rules",
      ],
      ...["rate_limiter", "core.ts"],
    ],
    "replay_view.ts": ["describe.ts", "stats", "record", "register", "core.ts"],
    "describe.ts": ["register", "rate_limiter", "core.ts"],
    stats: ["register", "rules", "rate_limiter", "core.ts"],
    append: ["durable", "snapshot", "core.ts"],
    durable: ["share", "snapshot", "read", "register", "core.ts"],
    share: ["read", "register", "core.ts"],
    snapshot: ["read", "register", "rules", "rate_limiter", "core.ts"],
    update: ["draw", "record", "register", "core.ts"],
    read: ["draw", "record", "rules", "core.ts"],
    draw: ["register", "rules", "rate_limiter", "core.ts"],
    record: ["rules", "core.ts"],
    register: ["rules", "core.ts"],
    rules: ["core.ts"],
    rate_limiter: ["core.ts"],
    "core.ts": [],
  },
  server: {
    "main.ts": ["config.ts", "serve.ts"],
    "mod.ts": [
      ...["config.ts", "serve.ts", "checkpoints", "service.ts", "serve_limits.ts", "figures.ts"],
    ],
    "config.ts": ["checkpoints", "serve_limits.ts"],
    "serve.ts": [
      ...["checkpoints", "service.ts", "table_figures.ts", "serve_limits.ts", "web", "figures.ts"],
    ],
    checkpoints: ["service.ts", "figures.ts"],
    "service.ts": [
      ...["server_info.ts", "set_rate_limiter.ts", "calls", "figures.ts"],
    ],
    "server_info.ts": ["table_figures.ts"],
    "table_figures.ts": ["figures.ts"],
    "set_rate_limiter.ts": ["calls"],
    calls: [],
    "serve_limits.ts": [],
    web: ["figures.ts"],
    "figures.ts": [],
  },
  net: {
    pump: ["http2"],
    grpc: ["http2"],
    http2: [],
    "http1.ts": [],
  },
};

/** Words of what goes through `net/`, and the files whose tables are those of HPACK. */
export const carried: readonly string[] = [
  ...["reverb", "item", "sampler", "sample", "learner", "actor", "limiter", "replay", "episode"],
];
export const tablesOfHeaders: readonly string[] = [
  ...["net/http2/hpack.ts", "net/http2/huffman.ts", "net/http2/header_fields.ts"],
  ...["net/http2/settings.ts", "net/http2/stream.ts", "net/http2/connection.ts"],
];

/** Rooms that may import less of the other parts than their part may. */
export const narrow: Readonly<Record<string, readonly string[]>> = {
  "net/http2": [],
  "server/web": ["base"],
};

/**
 * Of parts that lie flat, the floors: the beginnings of paths, the highest floor first. The first line that fits a file is its floor, and it
 * imports only files of that floor and of those below. **Who moves files of the kernel changes its floors here.**
 */
export const floors: Readonly<Record<string, readonly (readonly string[])[]>> = {
  kernel: [
    ["abi/"],
    ["sharing/"],
    ["durable/"],
    ["calls/", "snapshot/"],
    ["replay/", "tables/"],
    ["batches/"],
    ["store/"],
    ["rules/", "wire/", "log/", "packing/"],
    ["base/", "exrp.h"],
  ],
  tables: [
    ["mod.ts"],
    // Checkpoints that Reverb wrote.
    ["reverb_checkpoint"],
    // The set, and each table of it.
    ["tables.ts"],
    ["table.ts", "saving.ts", "durable.ts", "tables_options.ts"],
    ["table_batch.ts", "_tables_core.ts"],
    // What makes messages of calls.
    ["_inserting.ts", "_sampling.ts", "_local_channel.ts", "_item_data.ts"],
    ["durable_config.ts"],
    ["table_options.ts", "table_names.ts", "_wait.ts"],
    // What hands messages to the kernel.
    ["kernel_tables.ts", "table_item.ts"],
  ],
  reverb: [
    ["mod.ts"],
    ["client.ts"],
    // Writers and samplers.
    ["writer.ts", "trajectory_writer.ts", "structured_writer.ts"],
    ["sampling.ts", "_find_server.ts", "priority_changes.ts"],
    // Steps and items, and what was sampled.
    ["_rows.ts", "_steps.ts", "history.ts", "patterns.ts", "_sample_stream.ts"],
    ["item_writer.ts", "_column.ts", "sample_decoder.ts"],
    ["samples.ts", "sample_column.ts"],
    // What goes over a connection.
    ["item_stream.ts", "_chunk.ts", "_chunk_length.ts", "channel.ts", "_http2.ts"],
    ["sample_request.ts", "checkpoint/"],
    // Data, and what it is.
    ["check_item.ts", "table_info.ts", "writer_options.ts"],
    ["signature.ts", "structure.ts", "tensor.ts", "dtypes.ts", "path.ts", "errors.ts"],
    ["messages/"],
  ],
};

/** The file of the kernel that knows rules by name, and what rules may include of the kernel. */
export const rulesFile = "kernel/rules/native_rules.cpp";
export const seenByRules: readonly string[] = ["kernel/base/", "kernel/rules/"];

/** The packages that the library imports, and the parts that do. Nothing that the everyday names need may import one. */
export const packages: Readonly<Record<string, readonly string[]>> = {
  "@bufbuild/protobuf": ["reverb", "server"],
  // The program of a shard, which is not published.
  "npm:@nats-io/transport-node@": ["shards"],
};

/** What asks which platform this is. `ffi/native.ts` and `ffi/embedded.ts` run on Deno only, once `ffi/library.ts` has asked. */
export const platformFiles: readonly string[] = [
  ...["base/platform.ts", "storage/files.ts", "ffi/native.ts", "ffi/embedded.ts"],
  ...[
    "interchange/_files.ts",
    "net/pump/deno_sockets.ts",
    "net/pump/node_sockets.ts",
  ],
];

/** What opens libraries besides `ffi/`: the loops that move the same bytes without a replay are another library, not the kernel. */
export const otherLibraries: readonly string[] = ["bench/_limit_library.ts"];
