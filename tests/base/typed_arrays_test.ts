/** The true kind and length of a typed array, and the arrays that are refused. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { show } from "../../base/checks.ts";
import {
  bytesOf,
  checkHonest,
  countOf,
  isDetached,
  isKind,
  isOwn,
  kindOf,
  lengthOf,
  moveMemory,
} from "../../base/typed_arrays.ts";

class Sub extends Float32Array {
  override get length(): number {
    return 99;
  }
}

/** An array of `count` bytes with the prototype of another kind. */
function posing(count: number): Float64Array {
  return Object.setPrototypeOf(new Uint8Array(count), Float64Array.prototype);
}

/** An array whose own property says something else than its memory. */
function lying(property: string, value: unknown): Float64Array {
  return Object.defineProperty(new Float64Array(2), property, { value });
}

Deno.test("the kind and the length are those of the memory", () => {
  assertStrictEquals(kindOf(posing(4)), "Uint8Array");
  assertStrictEquals(lengthOf(posing(4)), 4);
  assertStrictEquals(lengthOf(lying("length", 7)), 2);
  assertStrictEquals(lengthOf(new Sub(3)), 3);
  assertStrictEquals(bytesOf(lying("byteLength", 800)).length, 16);
  assertStrictEquals(bytesOf(lying("buffer", new ArrayBuffer(800))).length, 16);
  assert(isKind("Float32Array", new Sub(3)));
  assertEquals([countOf([1, 2]), countOf(new Sub(3))], [2, 3]);
  for (const none of [new DataView(new ArrayBuffer(8)), new Proxy(new Uint8Array(2), {}), [], 7]) {
    assertStrictEquals(kindOf(none), undefined);
  }
});

Deno.test("lengths that change are those of now", () => {
  const buffer = new ArrayBuffer(16, { maxByteLength: 64 });
  const tracking = new Float64Array(buffer);
  const fixed = new Float64Array(buffer, 0, 2);
  buffer.resize(32);
  assertEquals([lengthOf(tracking), lengthOf(fixed)], [4, 2]);
  buffer.resize(8);
  assertEquals([lengthOf(tracking), lengthOf(fixed)], [1, 0]);
  buffer.transfer();
  assertEquals([lengthOf(tracking), isDetached(tracking)], [0, true]);
});

Deno.test("what the kernel may read has the kind, its true length and memory of its own", () => {
  assert(isOwn("Float64Array", new Float64Array(2)));
  assert(isOwn("Float64Array", new Float64Array(new ArrayBuffer(16, { maxByteLength: 64 }))));
  const shared = new Float64Array(new SharedArrayBuffer(16));
  const disguised = new Float64Array(
    Object.setPrototypeOf(new SharedArrayBuffer(16), ArrayBuffer.prototype),
  );
  for (const refused of [shared, disguised, posing(8), lying("length", 1), new Float32Array(2)]) {
    assert(!isOwn("Float64Array", refused));
  }
  assert(!isOwn("Float32Array", new Sub(3)));
});

Deno.test("a lie is named: what it says, and what it is", () => {
  assertThrows(
    () => checkHonest("priority", posing(4)),
    TypeError,
    "priority has the memory of a Uint8Array(4) and the prototype of Float64Array",
  );
  assertThrows(
    () => checkHonest("priority", Object.setPrototypeOf(new Uint8Array(4), null)),
    TypeError,
    "the prototype of no typed array",
  );
  assertThrows(() => checkHonest("it", lying("length", 7)), TypeError, "says that its length is 7");
  const gone = new Float64Array(2);
  gone.buffer.transfer();
  assertThrows(() => checkHonest("it", gone), TypeError, "it has lost its memory");
  for (
    const honest of [new Float64Array(0), new Uint8Array(2), [1], undefined, new Float16Array(1)]
  ) {
    checkHonest("it", honest);
  }
});

Deno.test("errors show the true kind and length of an array", () => {
  assertStrictEquals(show(posing(4)), "Uint8Array(4)");
  assertStrictEquals(show(lying("length", 7)), "Float64Array(2)");
});

Deno.test("memory moves once, and only of the size that is asked for", () => {
  const buffer = new ArrayBuffer(8);
  Object.defineProperty(buffer, "byteLength", { value: 16 });
  Object.defineProperty(buffer, "transfer", { value: () => buffer });
  assertStrictEquals(moveMemory(buffer, 16), undefined);
  const moved = moveMemory(buffer, 8);
  assertStrictEquals(moved?.byteLength, 8);
  assert(buffer.detached);
  assertStrictEquals(moveMemory(buffer, 8), undefined);
});
