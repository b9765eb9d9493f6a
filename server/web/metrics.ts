/**
 * The figures of a server in Prometheus's text format.
 *
 * @module
 */
import type { CheckpointFigures, ServerFigures, TableFigures } from "../figures.ts";

/** The media type of the format. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

type Kind = "gauge" | "counter";

/** Each metric of a table: its name, its kind, what it counts, and its figure. */
const ofTables: readonly (readonly [string, Kind, string, (table: TableFigures) => number])[] = [
  ["items", "gauge", "Items that are stored.", (it) => it.size],
  ["items_max", "gauge", "Items that the table holds at most.", (it) => it.maxSize],
  ["bytes", "gauge", "Bytes of the chunks that the items need.", (it) => it.bytes],
  ["bytes_max", "gauge", "Bytes that it holds at most; 0 without a limit.", (it) => it.maxBytes],
  ["inserts_total", "counter", "Items inserted.", (it) => it.inserts],
  ["samples_total", "counter", "Items drawn.", (it) => it.samples],
  ["deletes_total", "counter", "Items that went.", (it) => it.deletes],
  ["unique_samples_total", "counter", "Items drawn at least once.", (it) => it.uniqueSamples],
  ["episodes", "gauge", "Episodes of which something is stored.", (it) => it.episodes],
  ["deleted_episodes_total", "counter", "Episodes that went whole.", (it) => it.deletedEpisodes],
  ["waiting_inserts", "gauge", "Items that wait for the rate limiter.", (it) => it.waitingInserts],
  ["waiting_samplers", "gauge", "Streams that wait for samples.", (it) => it.waitingSamplers],
  ["largest_priority", "gauge", "The largest stored priority.", (it) => it.largestPriority],
  [
    "rate_limiter_difference",
    "gauge",
    "Inserts x samples_per_insert - samples.",
    (it) => it.inserts * it.rateLimiter.ratio - it.samples,
  ],
  [
    "rate_limiter_difference_min",
    "gauge",
    "The least difference.",
    (it) => it.rateLimiter.differenceMin,
  ],
  [
    "rate_limiter_difference_max",
    "gauge",
    "The largest difference.",
    (it) => it.rateLimiter.differenceMax,
  ],
  [
    "rate_limiter_min_size",
    "gauge",
    "Items before the first draw.",
    (it) => it.rateLimiter.minSize,
  ],
];

const ofServers: readonly (readonly [string, Kind, string, (server: ServerFigures) => number])[] = [
  ["start_time_seconds", "gauge", "When it started, since 1970.", (it) => it.startedAt],
  ["connections", "gauge", "Connections that are open.", (it) => it.connections],
  ["connections_total", "counter", "Connections ever opened.", (it) => it.connectionsOpened],
  ["received_bytes_total", "counter", "Bytes that came.", (it) => it.receivedBytes],
  ["sent_bytes_total", "counter", "Bytes that were sent.", (it) => it.sentBytes],
  ["chunks", "gauge", "Chunks that are stored.", (it) => it.chunks],
  ["chunk_bytes", "gauge", "The bytes of these chunks.", (it) => it.chunkBytes],
  ["memory_bytes", "gauge", "Memory that the tables take.", (it) => it.memoryBytes],
];

/** Those of checkpoints; a server without a folder for them has none, and the last three come with the first one. */
const ofCheckpoints: readonly (readonly [
  string,
  Kind,
  string,
  (checkpoints: CheckpointFigures) => number | undefined,
])[] = [
  ["checkpoints_total", "counter", "Checkpoints that were written.", (it) => it.written],
  ["checkpoint_failures_total", "counter", "Those that could not be.", (it) => it.failed],
  ["checkpoint_last_time_seconds", "gauge", "When the last was written.", (it) => it.last?.at],
  ["checkpoint_last_bytes", "gauge", "The bytes of its file.", (it) => it.last?.bytes],
  ["checkpoint_last_duration_seconds", "gauge", "How long it took.", (it) => it.last?.seconds],
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

/** The text. */
export function metricsText(figures: ServerFigures): string {
  const lines: string[] = [];
  const head = (name: string, kind: Kind, help: string): void => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
  };
  for (const [name, kind, help, figure] of ofServers) {
    head(`exrp_${name}`, kind, help);
    lines.push(`exrp_${name} ${number(figure(figures))}`);
  }
  for (const [name, kind, help, figure] of ofCheckpoints) {
    const value = figures.checkpoints === undefined ? undefined : figure(figures.checkpoints);
    if (value === undefined) continue;
    head(`exrp_${name}`, kind, help);
    lines.push(`exrp_${name} ${number(value)}`);
  }
  head("exrp_calls_total", "counter", "Calls that ended, by method and status of gRPC.");
  for (const { method, code, count } of figures.calls) {
    lines.push(`exrp_calls_total{method=${quote(method)},code="${code}"} ${count}`);
  }
  for (const [name, kind, help, figure] of ofTables) {
    head(`exrp_table_${name}`, kind, help);
    for (const table of figures.tables) {
      lines.push(`exrp_table_${name}{table=${quote(table.name)}} ${number(figure(table))}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
