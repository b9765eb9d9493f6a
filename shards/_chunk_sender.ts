/**
 * A writer's way to one shard: chunks with numbers, kept until they are confirmed, and sent again until then.
 *
 * @module
 */

import type { KernelSymbols } from "../ffi/symbols.ts";
import { changeChunk, writeChunk } from "./_chunk_message.ts";
import { CONFIRM, type Confirm } from "./_confirm_message.ts";
import { randomId } from "./_message_bytes.ts";

/** After so long without an answer, chunks are sent again; then twice as long, and so on. */
const RESEND_MS = 1000;
const RESEND_MAX_MS = 8000;

interface Unconfirmed {
  number: number;
  readonly data: Uint8Array<ArrayBuffer>;
  /** Whether it has anything that who flushes waits for. */
  readonly isVital: boolean;
}

/** What a sender needs of its writer. */
export interface ChunkSenderOwner {
  readonly symbols: KernelSymbols;
  readonly schema: number;
  /** Sends a chunk to the shard of this name. */
  send(shard: string, data: Uint8Array<ArrayBuffer>): void;
  /** A shard has refused a chunk for good. */
  refused(shard: string, why: string): void;
}

/** The chunks for one shard. */
export class ChunkSender {
  readonly shard: string;
  readonly #owner: ChunkSenderOwner;
  #actor = randomId();
  #next = 1;
  #open: Uint8Array[] = [];
  #openBytes = 0;
  #isOpenVital = false;
  #unconfirmed: Unconfirmed[] = [];
  #unconfirmedBytes = 0;
  #round = 0;
  /** The first number that was not confirmed when this round began. */
  #roundBase = 1;
  #patience = RESEND_MS;
  #heard = 0;
  /** Whether a gap was obeyed since the last progress, or since all was sent again for another reason: a shard that says nothing else costs no more. */
  #isGapObeyed = false;
  /** Chunks that were sent again. */
  repeated = 0;

  /** The way to this shard. */
  constructor(shard: string, owner: ChunkSenderOwner) {
    this.shard = shard;
    this.#owner = owner;
  }

  /** The name under which the shard knows this writer. */
  get actor(): string {
    return this.#actor;
  }

  /** Bytes that are not confirmed, with those that were not sent. */
  get bytes(): number {
    return this.#unconfirmedBytes + this.#openBytes;
  }

  /** Whether all records are confirmed. That a stream of steps has left may still wait for a shard that is gone. */
  get isEmpty(): boolean {
    return !this.#isOpenVital && !this.#unconfirmed.some(({ isVital }) => isVital);
  }

  /** Whether anything was ever sent. */
  get isUsed(): boolean {
    return this.#next > 1;
  }

  /** Bytes of the calls that were not sent. */
  get openBytes(): number {
    return this.#openBytes;
  }

  /** Takes a call; `isVital` if who flushes waits for it. */
  add(call: Uint8Array, isVital = true): void {
    this.#open.push(call);
    this.#isOpenVital ||= isVital;
    this.#openBytes += call.length;
  }

  /** Sends what is open as a chunk. */
  seal(): void {
    if (this.#open.length === 0) return;
    const { symbols, schema } = this.#owner;
    const number = this.#next++;
    const data = writeChunk(symbols, schema, this.#actor, number, this.#open);
    this.#open = [];
    this.#openBytes = 0;
    const isVital = this.#isOpenVital;
    this.#isOpenVital = false;
    if (this.#unconfirmed.length === 0) {
      this.#heard = performance.now();
      this.#patience = RESEND_MS;
    }
    this.#unconfirmed.push({ number, data, isVital });
    this.#unconfirmedBytes += data.length;
    changeChunk(data, { round: this.#round });
    this.#owner.send(this.shard, data);
  }

  /** Sends all again that is not confirmed. */
  resend(): void {
    this.#heard = performance.now();
    this.#isGapObeyed = false;
    this.#round++;
    this.#roundBase = this.#unconfirmed[0]?.number ?? this.#next;
    for (const { data } of this.#unconfirmed) {
      changeChunk(data, { round: this.#round });
      this.repeated++;
      this.#owner.send(this.shard, data);
    }
  }

  /** Sends again where an answer is late. */
  look(): void {
    if (this.#unconfirmed.length === 0) return;
    if (performance.now() - this.#heard < this.#patience) return;
    this.#patience = Math.min(2 * this.#patience, RESEND_MAX_MS);
    this.resend();
  }

  /** Hears an answer. True if bytes were confirmed. */
  hear({ kind, number, expected, round, text }: Confirm): boolean {
    const first = this.#unconfirmed[0]?.number ?? this.#next;
    if (kind === CONFIRM.refused) {
      // A refusal is repeated with each confirmation. It is new until the chunk is confirmed.
      if (expected >= first && expected < this.#next) this.#owner.refused(this.shard, text);
    }
    if (kind === CONFIRM.gap) {
      // An answer to what was sent before tells nothing new.
      if (round !== this.#round || this.#isGapObeyed) return false;
      // In this round, all from its base on was sent. A shard that expects an older chunk has lost what it had confirmed: it has another folder now, or this
      // writer was away for too long. So it gets the rest under another name.
      if (expected < this.#roundBase) this.#rename();
      else this.resend();
      this.#isGapObeyed = true;
      return false;
    }
    this.#heard = performance.now();
    if (number >= this.#next) return false;
    let count = 0;
    for (const each of this.#unconfirmed) {
      if (each.number > number) break;
      this.#unconfirmedBytes -= each.data.length;
      count++;
    }
    if (count === 0) return false;
    this.#unconfirmed.splice(0, count);
    this.#patience = RESEND_MS;
    this.#isGapObeyed = false;
    return true;
  }

  #rename(): void {
    this.#actor = randomId();
    this.#next = 1;
    for (const each of this.#unconfirmed) {
      each.number = this.#next++;
      changeChunk(each.data, { actor: this.#actor, number: each.number });
    }
    this.resend();
  }
}
