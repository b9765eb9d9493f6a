/**
 * Reads the true kind and length of a typed array.
 *
 * A program can change an array's prototype, or give it own properties `length`, `buffer` and `BYTES_PER_ELEMENT`. So these do not
 * say how much memory the array has. The getters of %TypedArray%.prototype read the array's memory, and throw for any other object.
 *
 * Every array of a caller that the kernel reads or writes goes through this file.
 *
 * @module
 */

/** The typed arrays that columns use, by name. */
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

type Getter<T> = (this: unknown) => T;

function getterOf<T>(object: object, key: string | symbol): Getter<T> {
  const getter = Object.getOwnPropertyDescriptor(object, key)?.get;
  if (getter === undefined) throw new TypeError(`this engine has no getter ${String(key)}`);
  return getter;
}

/** The classes by the names of their kinds: those that the engine has. */
const CLASSES: ReadonlyMap<string | undefined, abstract new (...args: never[]) => unknown> =
  new Map(
    Object.getOwnPropertyNames(globalThis).filter((name) => name.endsWith("Array"))
      .map((name) => [name, Reflect.get(globalThis, name)] as const)
      .filter(([, kind]) => Object.getPrototypeOf(kind) === Object.getPrototypeOf(Uint8Array)),
  );

const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);
const KIND: Getter<string | undefined> = getterOf(TYPED_ARRAY, Symbol.toStringTag);
const LENGTH: Getter<number> = getterOf(TYPED_ARRAY, "length");
const BUFFER: Getter<ArrayBuffer> = getterOf(TYPED_ARRAY, "buffer");
const BYTE_OFFSET: Getter<number> = getterOf(TYPED_ARRAY, "byteOffset");
const BYTE_LENGTH: Getter<number> = getterOf(TYPED_ARRAY, "byteLength");
const BUFFER_BYTES: Getter<number> = getterOf(ArrayBuffer.prototype, "byteLength");
/** Node 20 has neither `transfer` nor `detached`. */
const TRANSFER: (this: ArrayBuffer) => ArrayBuffer =
  Reflect.get(ArrayBuffer.prototype, "transfer") ??
    function (this: ArrayBuffer): ArrayBuffer {
      return structuredClone(this, { transfer: [this] });
    };

/** The kind of a typed array, by its memory; undefined for anything else, such as a `DataView` or a `Proxy`. */
export function kindOf(value: unknown): string | undefined {
  return KIND.call(value);
}

/** True for a typed array of this kind, by its memory. An instance of a subclass counts too. */
export function isKind<K extends ArrayKind>(kind: K, value: unknown): value is ArrayOfKind[K] {
  return KIND.call(value) === kind;
}

/** True for a typed array of any kind whose elements are numbers, by its memory. */
export function isNumeric(value: unknown): value is Float64Array<ArrayBuffer> {
  const kind = KIND.call(value);
  return kind !== undefined && !kind.startsWith("Big");
}

/** True for a typed array with memory, whose class and `length` are those of its memory. */
export function isHonest(array: ArrayBufferView & { readonly length: number }): boolean {
  const length = LENGTH.call(array);
  const kind = CLASSES.get(KIND.call(array));
  return array.length === length && kind !== undefined && array instanceof kind &&
    (length > 0 || !isDetached(array));
}

/** The number of elements of a typed array; 0 where it has lost its memory. */
export function lengthOf(array: ArrayBufferView): number {
  return LENGTH.call(array);
}

/** The number of elements of a plain or typed array. */
export function countOf(array: ArrayLike<unknown>): number {
  return KIND.call(array) === undefined ? array.length : LENGTH.call(array);
}

/** The buffer of a typed array. */
export function bufferOf(array: ArrayBufferView<ArrayBuffer>): ArrayBuffer {
  return BUFFER.call(array);
}

/** The byte of its buffer at which a typed array begins. */
export function byteOffsetOf(array: ArrayBufferView): number {
  return BYTE_OFFSET.call(array);
}

/** The memory of a typed array as bytes. */
export function bytesOf<B extends ArrayBufferLike>(array: ArrayBufferView<B>): Uint8Array<B> {
  const buffer = BUFFER.call(array) as ArrayBufferLike as B;
  return new Uint8Array(buffer, BYTE_OFFSET.call(array), BYTE_LENGTH.call(array));
}

/**
 * True for a typed array of this kind with an unchanged `length`, whose memory no other thread can change. The kernel can read
 * such an array directly.
 */
export function isOwn<K extends ArrayKind>(kind: K, value: unknown): value is ArrayOfKind[K] {
  return isKind(kind, value) && value.length === LENGTH.call(value) &&
    !isShared(BUFFER.call(value));
}

/** True for a `SharedArrayBuffer`, whatever its prototype is: the getter throws for one. */
function isShared(buffer: ArrayBufferLike): boolean {
  try {
    BUFFER_BYTES.call(buffer);
    return false;
  } catch {
    return true;
  }
}

/** Moves the memory of a buffer to a new one, so that its views are empty. Undefined where the buffer does not have exactly `bytes`. */
export function moveMemory(buffer: ArrayBuffer, bytes: number): ArrayBuffer | undefined {
  return BUFFER_BYTES.call(buffer) === bytes ? TRANSFER.call(buffer) : undefined;
}

/** True where a typed array has lost its memory, for example by a transfer. */
export function isDetached(value: unknown): boolean {
  if (KIND.call(value) === undefined) return false;
  try {
    new DataView(BUFFER.call(value));
    return false;
  } catch {
    return true; // no view of its buffer can be made
  }
}

/**
 * Throws for a typed array whose prototype or `length` was changed, or that has lost its memory. Accepts every other value.
 * Slow: call it on the way to an error, or where speed does not matter.
 *
 * @throws {TypeError} When the prototype or `length` of the array contradicts its memory, or the array has lost its memory.
 */
export function checkHonest(where: string, value: unknown): void {
  const kind = KIND.call(value);
  if (kind === undefined) return;
  if (isDetached(value)) {
    throw new TypeError(
      `${where} has lost its memory: its batch was handed back, or its buffer was transferred; it must be a ${kind} with memory`,
    );
  }
  const length = LENGTH.call(value);
  const claimed = claimedKind(value as object);
  if (claimed !== kind) {
    throw new TypeError(
      `${where} has the memory of a ${kind}(${length}) and the prototype of ${
        claimed ?? "no typed array"
      }; it must have the prototype of its own kind`,
    );
  }
  const { length: said } = value as { readonly length: unknown };
  if (said !== length) {
    throw new TypeError(
      `${where} says that its length is ${String(said)}, but the ${kind} has ${length} elements`,
    );
  }
}

/** Throws for memory that other threads can change while the kernel reads it. */
export function checkUnshared(where: string, value: unknown): void {
  if (KIND.call(value) === undefined || !isShared(BUFFER.call(value))) return;
  throw new TypeError(
    `${where} lies in a SharedArrayBuffer, which another thread can change during the call; pass a copy of it`,
  );
}

/** The kind that an array's prototypes name. */
function claimedKind(value: object): string | undefined {
  for (const [name, view] of CLASSES) if (value instanceof view) return name;
  return undefined;
}
