/**
 * Rules that are right and as plain as can be, to be made wrong in one place each.
 *
 * @module
 */

import type { EvictionPolicy } from "@exrp/replay/eviction";
import type { PickSelector, RandomStream, Selection } from "@exrp/replay/selectors";

/** Uniform draws. */
export class Plain implements PickSelector {
  readonly name: string = "plain";
  count = 0;
  pushed(_index: number): void {
    this.count++;
  }
  moved(_from: number, _to: number): void {}
  popped(_index: number): void {
    this.count--;
  }
  setPriority(_indices: Uint32Array, _priorities: Float64Array): void {}
  select(count: number, out: Selection, random: RandomStream): void {
    for (let k = 0; k < count; k++) out.index[k] = random.below(this.count);
    out.probability.fill(1 / this.count);
  }
  save(): Uint8Array {
    return new Uint8Array(0);
  }
  load(_bytes: Uint8Array): void {}
}

/** Draws in proportion to priority, by a plain sum. */
export class Roulette extends Plain {
  override readonly name = "roulette";
  readonly weighted = true;
  readonly priorities: number[] = [];
  largest = 1;
  override pushed(_index: number): void {
    this.priorities.push(this.largest);
  }
  override moved(from: number, to: number): void {
    this.priorities[to] = this.priorities[from] ?? 0;
  }
  override popped(_index: number): void {
    this.priorities.pop();
  }
  override setPriority(indices: Uint32Array, priorities: Float64Array): void {
    for (const [k, index] of indices.entries()) {
      this.priorities[index] = priorities[k] ?? 0;
      this.largest = Math.max(this.largest, priorities[k] ?? 0);
    }
  }
  override select(count: number, out: Selection, random: RandomStream): void {
    const total = this.priorities.reduce((sum, priority) => sum + priority, 0);
    for (let k = 0; k < count; k++) {
      if (total === 0) {
        out.index[k] = random.below(this.priorities.length);
        out.probability[k] = 1 / this.priorities.length;
        continue;
      }
      let rest = random.uniform() * total;
      let index = 0;
      for (const [candidate, priority] of this.priorities.entries()) {
        if (priority === 0) continue;
        index = candidate;
        rest -= priority;
        if (rest < 0) break;
      }
      out.index[k] = index;
      out.probability[k] = (this.priorities[index] ?? 0) / total;
    }
  }
  override save(): Uint8Array {
    return new Uint8Array(new Float64Array([this.largest, ...this.priorities]).buffer);
  }
  override load(bytes: Uint8Array): void {
    const [largest = 1, ...priorities] = new Float64Array(bytes.slice().buffer);
    this.largest = largest;
    this.priorities.splice(0, Infinity, ...priorities);
  }
}

/** Draws the picks in turn. Its state is the next pick. */
export class Turns extends Plain {
  override readonly name = "turns";
  next = 0;
  override select(count: number, out: Selection, _random?: RandomStream): void {
    for (let k = 0; k < count; k++) out.index[k] = this.next++ % this.count;
    out.probability.fill(1 / this.count);
  }
  override save(): Uint8Array {
    return new Uint8Array(new Float64Array([this.next]).buffer);
  }
  override load(bytes: Uint8Array): void {
    this.next = new Float64Array(bytes.slice().buffer)[0] ?? 0;
  }
}

/** Forgets the ended episode drawn from least recently. */
export class LeastRecent implements EvictionPolicy {
  readonly name = "leastRecent";
  handles: number[] = [];
  readonly over = new Set<number>();
  created(handle: number): void {
    this.handles.push(handle);
  }
  sampled(handles: Float64Array): void {
    for (const handle of handles) {
      this.#takeOut(handle);
      this.handles.push(handle);
    }
  }
  ended(handle: number): void {
    this.over.add(handle);
  }
  removed(handle: number): void {
    this.#takeOut(handle);
    this.over.delete(handle);
  }
  #takeOut(handle: number): void {
    const at = this.handles.indexOf(handle);
    if (at >= 0) this.handles.splice(at, 1);
  }
  victim(): number {
    return this.handles.find((handle) => this.over.has(handle)) ?? -1;
  }
  save(): Uint8Array {
    return new Uint8Array(Float64Array.from(this.handles).buffer);
  }
  load(bytes: Uint8Array): void {
    this.handles = [...new Float64Array(bytes.slice().buffer)];
  }
}
