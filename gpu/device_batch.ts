/**
 * A batch whose chosen columns are in buffers of a device.
 *
 * @module
 */

import type { AnyColumnArray, DType } from "../schema/columns.ts";
import type { Batch, NStepPart } from "../schema/batch.ts";
import type { AnySchema, Schema } from "../schema/schema.ts";
import type { DeviceBuffer } from "./device.ts";

/** An array in a buffer of a device. A {@linkcode DeviceBatch} has one for each part of a column that is on the device. */
export interface DeviceArray<B extends DeviceBuffer = DeviceBuffer> {
  /** The buffer: its first `byteLength` bytes are the array, in row-major order. It can be bound as storage, and copied from and to. */
  readonly buffer: B;
  /** The type of its numbers. */
  readonly dtype: DType;
  /** Its shape, which begins with the number of picks. */
  readonly shape: readonly number[];
  /** Its bytes. The buffer may have up to 3 more. */
  readonly byteLength: number;
  /**
   * Copies it to the memory of the program. This waits for the device: it is for tests and for a look.
   *
   * @throws {ReplayError} `device` if the device was lost. `disposed` if the {@linkcode DeviceReplay} was closed. `memory` if the device has no memory for a copy.
   */
  read(): Promise<AnyColumnArray>;
}

/** Arrays on a device in the place of typed arrays, in the same structure: of a {@linkcode DeviceBatch}. */
export type DeviceArraysOf<T, B extends DeviceBuffer> = T extends ArrayBufferView ? DeviceArray<B>
  : { readonly [K in keyof T]: DeviceArraysOf<T[K], B> };

/** What a {@linkcode DeviceBatch} has for a part of the column `Name`: on the device if it is among `Names`, else as in a {@linkcode Batch}. */
export type PartOf<T, Name extends string, Names extends string, B extends DeviceBuffer> =
  Name extends Names ? DeviceArraysOf<T, B> : T;

/** One n-step return of a {@linkcode DeviceBatch}, as a {@linkcode Batch} has it. */
export interface DeviceNStepPart<S extends Schema, Names extends string, B extends DeviceBuffer> {
  /** How many steps the return looks ahead. */
  readonly n: number;
  /** As in a {@linkcode Batch}. */
  readonly reward: NStepPart<S>["reward"];
  /** The state after them. */
  readonly nextState: PartOf<NStepPart<S>["nextState"], "state", Names, B>;
  /** As in a {@linkcode Batch}. */
  readonly discount: NStepPart<S>["discount"];
  /** The shapes of these arrays. */
  readonly shape: NStepPart<S>["shape"];
}

/** The parts of a {@linkcode DeviceBatch} that are always in the memory of the program. */
export type HostParts =
  | "size"
  | "length"
  | "seqLen"
  | "nextSeqLen"
  | "pickEpisode"
  | "pickPosition"
  | "probability"
  | "importanceWeight"
  | "discount"
  | "learnMask"
  | "contextMask"
  | "terminated"
  | "truncated"
  | "returnToGo"
  | "shape";

/**
 * The picks that {@linkcode DeviceReplay.getBatch} drew. It is a {@linkcode Batch} whose chosen columns are arrays of the device. `Names` are the names of these
 * columns. To set priorities, name the picks: `replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, errors)`.
 *
 * When you are done with it, hand its memory back, with `using` or `batch[Symbol.dispose]()`. Commands that you submitted before still see its buffers as they
 * are; later batches use them again. What you don't hand back stays on the device until the {@linkcode DeviceReplay} is closed.
 */
export interface DeviceBatch<
  S extends Schema = AnySchema,
  Names extends string = string,
  B extends DeviceBuffer = DeviceBuffer,
> extends Pick<Batch<S>, HostParts> {
  /** As in a {@linkcode Batch}. */
  readonly state: PartOf<Batch<S>["state"], "state", Names, B>;
  /** As in a {@linkcode Batch}. */
  readonly nextState: PartOf<Batch<S>["nextState"], "state", Names, B>;
  /** As in a {@linkcode Batch}. */
  readonly action: PartOf<Batch<S>["action"], "action", Names, B>;
  /** As in a {@linkcode Batch}. */
  readonly reward: PartOf<Batch<S>["reward"], "reward", Names, B>;
  /** As in a {@linkcode Batch}. */
  readonly extras: {
    readonly [K in keyof Batch<S>["extras"]]: PartOf<
      Batch<S>["extras"][K],
      `extras.${K & string}`,
      Names,
      B
    >;
  };
  /** The n-step returns, one part for each n of the pick policy. */
  readonly nStep: readonly DeviceNStepPart<S, Names, B>[];
  /** Hands the memory back. A second call does nothing. */
  [Symbol.dispose](): void;
}
