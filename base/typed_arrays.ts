/**
 * What a typed array truly is. A prototype can be exchanged, and `length`, `buffer` or `BYTES_PER_ELEMENT` can be given to one array
 * as a property of its own; so none of them says how much memory there is. The getters of %TypedArray%.prototype do: they look
 * at the array's memory, and no object but a real typed array has an answer for them.
 *
 * All memory of a caller's that the kernel reads or writes goes through this file.
 *
 * @module
 */

/** The typed arrays of numbers, by name; those of BigInts are none that this library takes. */
export interface ArrayOfKind {
  /** float32 */
  Float32Array: Float32Array<ArrayBuffer>;
  /** float64 */
  Float64Array: Float64Array<ArrayBuffer>;
  /** int32 */
  Int32Array: Int32Array<ArrayBuffer>;
  /** uint8, bool */
  Uint8Array: Uint8Array<ArrayBuffer>;
}

/** The name of a kind of typed array, such as `Float32Array`. */
export type ArrayKind = keyof ArrayOfKind;

const VIEWS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const;

type Getter<T> = (this: unknown) => T;

function getterOf<T>(object: object, key: string | symbol): Getter<T> {
  const getter = Object.getOwnPropertyDescriptor(object, key)?.get;
  if (getter === undefined) throw new TypeError(`this engine has no getter ${String(key)}`);
  return getter;
}

const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);
const KIND: Getter<string | undefined> = getterOf(TYPED_ARRAY, Symbol.toStringTag);
const LENGTH: Getter<number> = getterOf(TYPED_ARRAY, "length");
const BUFFER: Getter<ArrayBuffer> = getterOf(TYPED_ARRAY, "buffer");
const BYTE_OFFSET: Getter<number> = getterOf(TYPED_ARRAY, "byteOffset");
const BYTE_LENGTH: Getter<number> = getterOf(TYPED_ARRAY, "byteLength");
const DETACHED: Getter<boolean> = getterOf(ArrayBuffer.prototype, "detached");
const BUFFER_BYTES: Getter<number> = getterOf(ArrayBuffer.prototype, "byteLength");
const TRANSFER = ArrayBuffer.prototype.transfer;

/** The kind of a typed array, by its memory; undefined for all else, such as a `DataView` or a `Proxy`. */
export function kindOf(value: unknown): string | undefined {
  return KIND.call(value);
}

/** True for a typed array of this kind, by its memory; a subclass is one too. */
export function isKind<K extends ArrayKind>(kind: K, value: unknown): value is ArrayOfKind[K] {
  return KIND.call(value) === kind;
}

/** How many elements a typed array has: 0 where its memory was taken away. */
export function lengthOf(array: ArrayBufferView): number {
  return LENGTH.call(array);
}

/** The elements of a plain or typed array. */
export function countOf(array: ArrayLike<unknown>): number {
  return KIND.call(array) === undefined ? array.length : LENGTH.call(array);
}

/** The buffer that a typed array lies in. */
export function bufferOf(array: ArrayBufferView<ArrayBuffer>): ArrayBuffer {
  return BUFFER.call(array);
}

/** Where in its buffer a typed array begins. */
export function byteOffsetOf(array: ArrayBufferView): number {
  return BYTE_OFFSET.call(array);
}

/** The memory of a typed array as bytes. */
export function bytesOf<B extends ArrayBufferLike>(array: ArrayBufferView<B>): Uint8Array<B> {
  const buffer = BUFFER.call(array) as ArrayBufferLike as B;
  return new Uint8Array(buffer, BYTE_OFFSET.call(array), BYTE_LENGTH.call(array));
}

/**
 * True for a typed array of this kind, with the length that it says, whose memory no other thread has: one that the kernel can
 * read as it is.
 */
export function isOwn<K extends ArrayKind>(kind: K, value: unknown): value is ArrayOfKind[K] {
  return isKind(kind, value) && value.length === LENGTH.call(value) &&
    !isShared(BUFFER.call(value));
}

/** Whether a buffer is a `SharedArrayBuffer`, whatever its prototype says: the getter throws for one. */
function isShared(buffer: ArrayBufferLike): boolean {
  try {
    DETACHED.call(buffer);
    return false;
  } catch {
    return true;
  }
}

/** Moves the memory of a buffer to another, so that its views are empty; undefined where it has not just so many bytes. */
export function moveMemory(buffer: ArrayBuffer, bytes: number): ArrayBuffer | undefined {
  return BUFFER_BYTES.call(buffer) === bytes ? TRANSFER.call(buffer) : undefined;
}

/** Whether a typed array's memory was taken away, by a transfer for example. */
export function isDetached(value: unknown): boolean {
  if (KIND.call(value) === undefined) return false;
  const buffer = BUFFER.call(value);
  return !isShared(buffer) && DETACHED.call(buffer);
}

/**
 * Refuses a typed array that is not what it says, and one without memory; anything else is for others to judge. Costly: for
 * the way to an error, or where no time is short.
 *
 * @throws {TypeError} When the prototype or `length` of the array says something else than its memory, or it has none any more.
 */
export function checkHonest(where: string, value: unknown): void {
  const kind = KIND.call(value);
  if (kind === undefined) return;
  if (isDetached(value)) {
    throw new TypeError(
      `${where} has no memory any more: its batch was handed back, or its buffer was transferred; needed is a ${kind} with memory`,
    );
  }
  const length = LENGTH.call(value);
  const claimed = claimedKind(value as object);
  if (claimed !== kind) {
    throw new TypeError(
      `${where} has the memory of a ${kind}(${length}) and the prototype of ${
        claimed ?? "no typed array"
      }; needed is an array whose prototype was not changed`,
    );
  }
  const { length: said } = value as { readonly length: unknown };
  if (said !== length) {
    throw new TypeError(
      `${where} says that its length is ${String(said)}, but the ${kind} has ${length} elements`,
    );
  }
}

/** Refuses memory that other threads can change while the kernel reads it. */
export function checkUnshared(where: string, value: unknown): void {
  if (KIND.call(value) === undefined || !isShared(BUFFER.call(value))) return;
  throw new TypeError(
    `${where} lies in a SharedArrayBuffer, which another thread can change in the middle of the call; needed is a copy of it`,
  );
}

/** The kind that an array's prototypes name. */
function claimedKind(value: object): string | undefined {
  const half = typeof Float16Array === "function" ? [Float16Array] : [];
  return [...VIEWS, ...half].find((view) => value instanceof view)?.name;
}
