/**
 * Verifying: all of a durable folder or of a snapshot's file is read, and each checksum is compared. Nothing is changed or loaded.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { type Kernel, openKernel } from "../../ffi/library.ts";
import { errorOfStatus, segmentFile } from "../../ffi/status_errors.ts";
import * as abi from "../../ffi/symbols.ts";
import { Column, type DType } from "../../schema/columns.ts";
import type { ReplayConfig } from "../../schema/create_options.ts";
import {
  type DescribedKind,
  readDescription,
  TABLES_FILE,
  TABLES_KIND,
} from "../../storage/described_folder.ts";
import { attemptOn, filesFor } from "../../storage/file.ts";
import type { OpenFile } from "../../storage/files.ts";
import { FrameReader } from "../../storage/frames.ts";
import { readFromPieces } from "../../storage/io.ts";
import { KIND } from "../snapshot/snapshot.ts";
import type { OwnSchema } from "../snapshot/snapshot_schema.ts";
import { folderPath, isFolder, readConfig, REPLAY_FILE } from "./folder.ts";

const VERIFY = "ExperienceReplay.verify()";

/** A damage that {@linkcode ExperienceReplay.verify} found; it has an example. */
export interface Damage {
  /** The file, by its name in the folder. */
  readonly file: string;
  /** Where it begins. */
  readonly byte: number;
  /** How long it is; 0 where that is not known. */
  readonly bytes: number;
  /**
   * What it costs. `"nothing"`: it is repaired whenever it is read, or nothing needs it. `"episodes"`: rows of some episodes, at most, which are evicted when the folder
   * is opened; of tables, chunks of some items. `"all"`: the folder can't be opened, or the snapshot can't be loaded.
   */
  readonly cost: "nothing" | "episodes" | "all";
  /** What is wrong, in words. */
  readonly reason: string;
}

/** What {@linkcode ExperienceReplay.verify} found; it has an example. */
export interface Verified {
  /** What stands at the path. */
  readonly kind: "folder" | "snapshot";
  /** Whether no damage costs anything. */
  readonly isWhole: boolean;
  /** The damages, at most 1,000 of them. */
  readonly damages: readonly Damage[];
  /** How many damages there are. */
  readonly damageCount: number;
  /** Bytes that were read. */
  readonly bytes: number;
  /** Bytes at the end of a folder's log that nothing proves to have been flushed. Opening cuts them off; while a replay has the folder open, they may just be written. */
  readonly cutBytes: number;
  /** Records that the replay may hold; undefined if nothing readable says so. */
  readonly capacity: number | undefined;
  /** The columns of a record as you write them in code, by name. */
  readonly columns: Readonly<Record<string, string>>;
  /** Records in a snapshot's file; undefined for a folder. */
  readonly recordCount: number | undefined;
}

/** What the folder of tables has. */
const TABLES: DescribedKind = {
  ...{ operation: VERIFY, name: TABLES_FILE, format: 1, of: "tables", one: "tables" },
};

/** How many damages are listed. */
const LISTED_MAX = 1000;

const REASONS: Readonly<Record<number, string>> = {
  [abi.EXRP_FLAW_KIND_BIT]: "one bit was flipped",
  [abi.EXRP_FLAW_KIND_PAYLOAD]: "the bytes are not those that were written",
  [abi.EXRP_FLAW_KIND_FRAMES]: "no part of the log can be recognized there",
  [abi.EXRP_FLAW_KIND_HEAD]: "the head of the file is not the one that was written",
  [abi.EXRP_FLAW_KIND_MISSING]: "what was there is missing",
};

const COSTS: readonly Damage["cost"][] = ["nothing", "episodes", "all"];

/** Reads all that stands at a path. */
export async function verifyPath(path: string | URL): Promise<Verified> {
  const at = folderPath(VERIFY, path);
  const isAFolder = isFolder(VERIFY, at);
  const kernel = await openKernel();
  return isAFolder ? await verifyFolder(kernel, at) : await verifyFile(kernel, at);
}

async function verifyFolder(kernel: Kernel, path: string): Promise<Verified> {
  const damages: Damage[] = [];
  let config: ReplayConfig | undefined;
  let file = REPLAY_FILE;
  try {
    const folder = readConfig(VERIFY, path);
    config = folder.config;
    let { repairedByte } = folder;
    if (config === undefined) {
      file = TABLES_FILE;
      const tables = readDescription(TABLES, path);
      repairedByte = tables?.repairedByte;
      if (tables === undefined) {
        file = REPLAY_FILE;
        damages.push(damageOf(file, "it is not there"));
      }
    }
    if (repairedByte !== undefined) {
      const reason = REASONS[abi.EXRP_FLAW_KIND_BIT] ?? "";
      damages.push({ file, byte: repairedByte, bytes: 1, cost: "nothing", reason });
    }
  } catch (error) {
    if (!(error instanceof ReplayError) || !error.code.startsWith("log-")) throw error;
    damages.push(damageOf(file, error.message));
  }
  const bytes = new TextEncoder().encode(path);
  const report = new Float64Array(abi.EXRP_VERIFY_COUNT);
  const flaws = new Float64Array(LISTED_MAX * abi.EXRP_FLAW_COUNT);
  const { symbols } = kernel;
  const status = await symbols.exrp_folder_verify(
    bytes,
    lengthOf(bytes),
    Number(file === TABLES_FILE),
    report,
    lengthOf(report),
    flaws,
    lengthOf(flaws),
  );
  if (status !== 0) throw errorOfStatus(VERIFY, status, []);
  const failed = report[abi.EXRP_VERIFY_FAILED] ?? 0;
  if (failed === abi.EXRP_LOG_EMPTY) {
    damages.push(damageOf(segmentFile(1), "no file of the log is there"));
  } else if (failed !== 0) {
    const detail = [failed, ...report.subarray(abi.EXRP_VERIFY_CALL)];
    throw errorOfStatus(VERIFY, abi.EXRP_STATUS_LOG, detail);
  }
  const checkpoint = report[abi.EXRP_VERIFY_CHECKPOINT] ?? 0;
  if (checkpoint >= 2) {
    const what = checkpoint === 2 ? "the log itself has the checkpoint" : "one bit is flipped";
    damages.push({
      ...damageOf("checkpoint.exrp", `its checksum is wrong; ${what}`),
      cost: "nothing",
    });
  }
  const flawCount = report[abi.EXRP_VERIFY_FLAWS] ?? 0;
  for (let k = 0; k < Math.min(flawCount, LISTED_MAX); k++) {
    const flaw = flaws.subarray(k * abi.EXRP_FLAW_COUNT);
    damages.push({
      file: segmentFile(flaw[abi.EXRP_FLAW_SEGMENT] ?? 0),
      byte: flaw[abi.EXRP_FLAW_OFFSET] ?? 0,
      bytes: flaw[abi.EXRP_FLAW_BYTES] ?? 0,
      cost: COSTS[flaw[abi.EXRP_FLAW_COST] ?? 0] ?? "all",
      reason: REASONS[flaw[abi.EXRP_FLAW_KIND] ?? 0] ?? "it is damaged",
    });
  }
  return {
    kind: "folder",
    isWhole: damages.every(({ cost }) => cost === "nothing"),
    damages,
    damageCount: damages.length + Math.max(0, flawCount - LISTED_MAX),
    bytes: report[abi.EXRP_VERIFY_BYTES] ?? 0,
    cutBytes: report[abi.EXRP_VERIFY_TAIL_BYTES] ?? 0,
    capacity: config?.capacity,
    columns: Object.fromEntries(
      (config?.columns ?? []).map(({ name, column }) => [name, String(column)]),
    ),
    recordCount: undefined,
  };
}

/** A damage without which nothing can be read. */
function damageOf(file: string, reason: string): Damage {
  return { file, byte: 0, bytes: 0, cost: "all", reason };
}

/** Reads the file of a snapshot, while the program goes on. */
async function verifyFile(kernel: Kernel, path: string): Promise<Verified> {
  const files = filesFor(VERIFY);
  const attempt = <T>(call: () => T): T => attemptOn(VERIFY, "read", path, files, call);
  using file: OpenFile = attempt(() => files.open(path));
  let bytes = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    const piece = new Uint8Array(2 ** 20);
    const got = attempt(() => file.read(piece));
    bytes += got;
    return got === 0 ? undefined : piece.subarray(0, got);
  };
  let first = await next();
  const isOfTables = new TextDecoder().decode(first?.subarray(0, 8)) === TABLES_KIND.magic;
  const reader = new FrameReader(kernel, isOfTables ? TABLES_KIND : KIND);
  const pieces = async (): Promise<Uint8Array | undefined> => {
    const piece = first ?? await next();
    first = undefined;
    return piece;
  };
  let recordCount: number | undefined;
  let schema: Readonly<Record<string, unknown>> = {};
  const damages: Damage[] = [];
  try {
    schema = await readFromPieces(
      pieces,
      reader.all((name, payload) => {
        // The counters: the fifth is that of records.
        if (name !== "section KERN 0" || lengthOf(payload) < 40) return;
        const view = new DataView(payload.buffer, payload.byteOffset);
        recordCount = Number(view.getBigUint64(32, true));
      }),
    );
  } catch (error) {
    if (!(error instanceof ReplayError) || !error.code.startsWith("snapshot-")) throw error;
    const reason = error.message.replace("unserialize(): ", "");
    damages.push({ ...damageOf(files.path.basename(path), reason), byte: reader.offset });
  }
  const { capacity, columns = [] } = schema as Partial<Pick<OwnSchema, "capacity" | "columns">>;
  return {
    kind: "snapshot",
    isWhole: damages.length === 0,
    damages,
    damageCount: damages.length,
    bytes,
    cutBytes: 0,
    capacity,
    columns: Object.fromEntries(
      columns.map((
        { name, dtype, shape, every },
      ) => [name, String(new Column(dtype as DType, shape, every))]),
    ),
    recordCount,
  };
}
