/**
 * The figures of a server in Prometheus's text format.
 *
 * @module
 */
import type { ServerFigures, TableFigures } from "../figures.ts";

/** The media type of the format. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** A metric: its name, which ends by `_total` if it only counts up, what it says, and its figure; undefined where there is none. */
type Metric<T> = readonly [name: string, help: string, figure: (it: T) => number | undefined];

const ofTables: readonly Metric<TableFigures>[] = [
  ["items", "Items that are stored.", (it) => it.size],
  ["items_max", "Items that the table holds at most.", (it) => it.maxSize],
  ["bytes", "Bytes of the chunks that the items need.", (it) => it.bytes],
  ["bytes_max", "Bytes that it holds at most; 0 without a limit.", (it) => it.maxBytes],
  ["inserts_total", "Items inserted.", (it) => it.inserts],
  ["samples_total", "Items drawn.", (it) => it.samples],
  ["deletes_total", "Items that went.", (it) => it.deletes],
  ["unique_samples_total", "Items drawn at least once.", (it) => it.uniqueSamples],
  ["episodes", "Episodes of which something is stored.", (it) => it.episodes],
  ["deleted_episodes_total", "Episodes that went whole.", (it) => it.deletedEpisodes],
  ["waiting_inserts", "Items that wait for the rate limiter.", (it) => it.insertsWaiting],
  ["waiting_samplers", "Streams that wait for samples.", (it) => it.samplersWaiting],
  ["largest_priority", "The largest stored priority.", (it) => it.largestPriority],
  [
    "rate_limiter_difference",
    "Inserts x samples_per_insert - samples.",
    (it) => it.inserts * it.rateLimiter.ratio - it.samples,
  ],
  ["rate_limiter_difference_min", "The least difference.", (it) => it.rateLimiter.differenceMin],
  ["rate_limiter_difference_max", "The largest difference.", (it) => it.rateLimiter.differenceMax],
  ["rate_limiter_min_size", "Items before the first draw.", (it) => it.rateLimiter.minSize],
];

/** A server without a folder for checkpoints has none of theirs, and the last three come with the first one. */
const ofServers: readonly Metric<ServerFigures>[] = [
  ["start_time_seconds", "When it started, since 1970.", (it) => it.startedAt],
  ["connections", "Connections that are open.", (it) => it.connections],
  ["connections_total", "Connections ever opened.", (it) => it.connectionsOpened],
  ["received_bytes_total", "Bytes that came.", (it) => it.receivedBytes],
  ["sent_bytes_total", "Bytes that were sent.", (it) => it.sentBytes],
  ["chunks", "Chunks that are stored.", (it) => it.chunks],
  ["chunk_bytes", "The bytes of these chunks.", (it) => it.chunkBytes],
  ["memory_bytes", "Memory that the tables take.", (it) => it.memoryBytes],
  ["checkpoints_total", "Checkpoints that were written.", (it) => it.checkpoints?.written],
  ["checkpoint_failures_total", "Those that could not be.", (it) => it.checkpoints?.failed],
  [
    "checkpoint_last_time_seconds",
    "When the last was written.",
    (it) => it.checkpoints?.last?.at,
  ],
  ["checkpoint_last_bytes", "The bytes of its file.", (it) => it.checkpoints?.last?.bytes],
  [
    "checkpoint_last_duration_seconds",
    "How long it took.",
    (it) => it.checkpoints?.last?.seconds,
  ],
];

/** A label's value, escaped. */
function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

/** A number as the format writes it. */
function number(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

/** The lines of a metric, with its value for each set of labels. */
function linesOf(
  name: string,
  help: string,
  values: readonly (readonly [labels: string, value: number | undefined])[],
): string[] {
  const kind = name.endsWith("_total") ? "counter" : "gauge";
  const lines = values.flatMap(([labels, value]) =>
    value === undefined ? [] : [`${name}${labels} ${number(value)}`]
  );
  if (lines.length === 0) return [];
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...lines];
}

/** The text. */
export function metricsText(figures: ServerFigures): string {
  const calls = figures.calls.map(({ method, code, count }) =>
    [`{method=${quote(method)},code="${code}"}`, count] as const
  );
  const lines = [
    ...ofServers.flatMap(([name, help, figure]) =>
      linesOf(`exrp_${name}`, help, [["", figure(figures)]])
    ),
    ...linesOf("exrp_calls_total", "Calls that ended, by method and status of gRPC.", calls),
    ...ofTables.flatMap(([name, help, figure]) =>
      linesOf(
        `exrp_table_${name}`,
        help,
        figures.tables.map((table) => [`{table=${quote(table.name)}}`, figure(table)]),
      )
    ),
  ];
  return `${lines.join("\n")}\n`;
}
