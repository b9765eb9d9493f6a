/**
 * The messages between actors and an inference server: what all environments of an actor went through in one step, and their next actions.
 *
 * A request has the states in which to act next. Unless the environments begin, it also has the rewards of the actions before, which episodes ended, and the
 * final states of those. Its number and its actor's tell a request that is repeated from the next one. Once a server has answered, the next request is meant
 * for that one: if two servers have one name, only one of them records the steps of an actor.
 *
 * @module
 */

import type { TransitionColumns } from "../learner/types.ts";
import { type AnyColumnArray, type NamedColumn, viewOf } from "../schema/columns.ts";
import { checkColumns, type NamedColumns } from "../schema/record_columns.ts";
import { checkOptions } from "../base/option_names.ts";
import { MessageLayout } from "../shards/message_layout.ts";

/** "EXI2", as the first four bytes. */
const MAGIC = 0x32495845;

/** How an episode goes on after a step: a byte for each environment. */
export const GOES_ON = 0;
export const TERMINATED = 1;
export const TRUNCATED = 2;

/** What the head of a request says. */
export interface RequestHead {
  /** A random number that no other actor has. */
  readonly actor: number;
  /** The number of the request, from 0. */
  readonly number: number;
  /** The random word of the server that it is meant for; 0 where any may answer. */
  readonly server: number;
  /** How many environments the actor has. */
  readonly environments: number;
  /** Whether all environments begin an episode: then there are no rewards. */
  readonly isReset: boolean;
  /** Whether the actor leaves: then there is nothing else. */
  readonly isEnd: boolean;
}

/** A request in its memory. */
export interface InferenceRequest extends RequestHead {
  /** The states in which to act, for each leaf. */
  readonly state: readonly AnyColumnArray[];
  /** The rewards of the actions before. */
  readonly reward: AnyColumnArray;
  /** How the episodes went on after them: one of the three above. */
  readonly ended: Uint8Array;
  /** The final states of the episodes that ended, in the order of their environments, for each leaf. */
  readonly finalState: readonly AnyColumnArray[];
}

/** What a server answers: actions, or why there are none. */
export interface InferenceReply {
  /** The number of the request. */
  readonly number: number;
  /** The random word of the server, which is not 0. */
  readonly server: number;
  /** Whether the server did not know the actor. So it began an episode for each of its environments. */
  readonly isNew: boolean;
  /** The bytes of the actions. */
  readonly actions: Uint8Array;
  /** Why there are none. */
  readonly error: string | undefined;
}

const RESET = 1;
const END = 2;

/** What comes before the arrays of a request. */
interface RequestFields extends Omit<RequestHead, "isReset" | "isEnd"> {
  readonly fingerprint: number;
  readonly endedCount: number;
  readonly flags: number;
}
const REQUEST: MessageLayout<RequestFields> = new MessageLayout<RequestFields>(MAGIC, {
  ...{ fingerprint: "u32", actor: "whole", number: "whole", environments: "u32" },
  ...{ endedCount: "u32", flags: "u32", server: "u32" },
});

/** Which columns the messages have, and where. */
export class InferenceLayout {
  readonly named: NamedColumns;
  readonly leaves: readonly NamedColumn[];
  readonly action: NamedColumn;
  readonly reward: NamedColumn;
  /** A number that other columns hardly have, too. */
  readonly fingerprint: number;
  /** The columns as text, for errors. */
  readonly text: string;

  constructor(where: string, columns: TransitionColumns) {
    checkOptions(`${where}: the columns`, columns, ["state", "action", "reward", "extras"]);
    this.named = checkColumns(where, columns);
    const { leaves, columns: all } = this.named;
    const [action, reward] = all.slice(leaves.length) as [NamedColumn, NamedColumn];
    this.leaves = leaves;
    this.action = action;
    this.reward = reward;
    const shown = [...leaves, action, reward];
    this.text = shown.map(({ name, column }) => `${name}: ${column}`).join(", ");
    let hash = 0x811c9dc5;
    for (const letter of this.text) {
      hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
    }
    this.fingerprint = hash >>> 0;
  }

  /** The bytes of a request, of which `endedCount` episodes ended. */
  bytesOf({ environments, isReset, isEnd }: RequestHead, endedCount: number): number {
    if (isEnd) return REQUEST.bytes;
    const states = this.#stateBytes(environments);
    if (isReset) return REQUEST.bytes + states;
    const outcome = aligned(this.reward, environments) + alignUp(environments);
    return REQUEST.bytes + states + outcome + this.#stateBytes(endedCount);
  }

  /** The parts of a request that lies in a buffer from its beginning. What it does not have is empty. */
  partsIn(buffer: ArrayBuffer, head: RequestHead, endedCount: number): InferenceRequest {
    let at = REQUEST.bytes;
    const count = head.isEnd ? 0 : head.environments;
    const stepped = head.isReset ? 0 : count;
    const next = ({ column }: NamedColumn, rows: number): AnyColumnArray => {
      const view = viewOf(column.dtype, buffer, at, rows * column.elementCount);
      at += aligned({ column }, rows);
      return view;
    };
    const state = this.leaves.map((leaf) => next(leaf, count));
    const reward = next(this.reward, stepped);
    const ended = new Uint8Array(buffer, at, stepped);
    at += alignUp(stepped);
    const finalState = this.leaves.map((leaf) => next(leaf, stepped === 0 ? 0 : endedCount));
    return { ...head, state, reward, ended, finalState };
  }

  /** Writes the head of a request. */
  writeHead(
    buffer: ArrayBuffer,
    { actor, number, server, environments, isReset, isEnd }: RequestHead,
    endedCount: number,
  ): void {
    const flags = (isReset ? RESET : 0) | (isEnd ? END : 0);
    const { fingerprint } = this;
    const head = { fingerprint, actor, number, environments, endedCount, flags, server };
    REQUEST.set(new Uint8Array(buffer), head);
  }

  /** Takes a request apart, in memory of its own. Throws an `Error` that says what is wrong with it. */
  decode(message: Uint8Array, environmentsMax: number): InferenceRequest {
    const read = REQUEST.read(message);
    if (read === undefined) throw new Error("the message is no request");
    const { actor, number, server, environments, endedCount, flags } = read;
    if (read.fingerprint !== this.fingerprint) {
      throw new Error(`the actor has other columns; those of the server are ${this.text}`);
    }
    const [isReset, isEnd] = [(flags & RESET) !== 0, (flags & END) !== 0];
    const head = { actor, number, server, environments, isReset, isEnd };
    if (environments < 1 || environments > environmentsMax) {
      throw new Error(`an actor has 1 to ${environmentsMax} environments, got ${environments}`);
    }
    const bytes = this.bytesOf(head, endedCount);
    if (endedCount > environments || message.length !== bytes) {
      throw new Error(`the message must have ${bytes} bytes, got ${message.length}`);
    }
    // A copy: slice() of a Node Buffer, which messages of NATS are, makes none.
    const request = this.partsIn(new Uint8Array(message).buffer, head, endedCount);
    let count = 0;
    for (const ended of request.ended) {
      if (ended > TRUNCATED) throw new Error(`an episode can't go on by ${ended}`);
      if (ended !== GOES_ON) count++;
    }
    if (count !== endedCount) {
      throw new Error(`${endedCount} final states came for ${count} episodes`);
    }
    return request;
  }

  #stateBytes(rows: number): number {
    return this.leaves.reduce((sum, leaf) => sum + aligned(leaf, rows), 0);
  }
}

function alignUp(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function aligned({ column }: Pick<NamedColumn, "column">, rows: number): number {
  return alignUp(column.elementBytes * column.elementCount * rows);
}

/** What the head of an answer says. */
type ReplyHead = Pick<InferenceReply, "number" | "server"> & { readonly isNew?: boolean };

const NEW = 1;
const ERROR = 2;
const REPLY = new MessageLayout<{ flags: number; number: number; server: number }>(MAGIC, {
  flags: "u32",
  number: "f64",
  server: "u32",
});

/** The actions of a request. */
export function encodeActions(
  { number, server, isNew = false }: ReplyHead,
  actions: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  return REPLY.write({ flags: isNew ? NEW : 0, number, server }, [actions]);
}

/** Why a request gets no actions. */
export function encodeError(
  { number, server }: ReplyHead,
  reason: string,
): Uint8Array<ArrayBuffer> {
  return REPLY.write({ flags: ERROR, number, server }, [new TextEncoder().encode(reason)]);
}

/** Lets any server answer a request. */
export function meanAnyServer(message: Uint8Array): Uint8Array {
  const copy = new Uint8Array(message);
  REQUEST.set(copy, { server: 0 });
  return copy;
}

/** An answer; undefined if it is none. */
export function decodeReply(message: Uint8Array): InferenceReply | undefined {
  const reply = REPLY.read(message);
  if (reply === undefined) return undefined;
  const { flags, number, server, body } = reply;
  const isError = (flags & ERROR) !== 0;
  return {
    ...{ number, server, isNew: (flags & NEW) !== 0 },
    actions: isError ? body.subarray(0, 0) : body,
    error: isError ? new TextDecoder().decode(body) : undefined,
  };
}
