/**
 * SETTINGS both ways: those of the server are written, those of the client are obeyed.
 *
 * @module
 */
import {
  ErrorCode,
  frameSizeAtFirst,
  frameSizeLimit,
  FrameType,
  read32,
  Setting,
  windowAtFirst,
  windowMax,
  write32,
} from "./protocol.ts";
import type { Http2Stream, Sender } from "./stream.ts";

/** Bytes of one setting. */
export const settingBytes = 6;

/** Writes the server's SETTINGS, and makes the window of the connection as large as the limits say. */
export function writeSettings(sender: Sender): void {
  const { streamsMax, streamWindow, frameSizeMax, headerListMax, connectionWindow } = sender.limits;
  const settings = [
    [Setting.maxConcurrentStreams, streamsMax],
    [Setting.initialWindowSize, streamWindow],
    [Setting.maxFrameSize, frameSizeMax],
    [Setting.maxHeaderListSize, headerListMax],
  ] as const;
  let at = sender.frame(FrameType.settings, 0, 0, settingBytes * settings.length);
  for (const [name, value] of settings) {
    sender.output.bytes[at] = 0;
    sender.output.bytes[at + 1] = name;
    write32(sender.output.bytes, at + 2, value);
    at += settingBytes;
  }
  const more = connectionWindow - windowAtFirst;
  if (more > 0) sender.frameOf32(FrameType.windowUpdate, 0, more);
}

/**
 * Obeys the client's settings of a frame; returns the first fault, as its code and words. Where the frame has several windows, only the last
 * one is set: a frame of thousands must not walk over the streams for each.
 */
export function applySettings(
  bytes: Uint8Array,
  from: number,
  to: number,
  sender: Sender,
  streams: Iterable<Http2Stream>,
): readonly [code: number, why: string] | undefined {
  let window = sender.windowOfStreams;
  for (let at = from; at < to; at += settingBytes) {
    const name = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
    const value = read32(bytes, at + 2);
    if (name === Setting.headerTableSize) {
      // The encoder uses no table. A decoder that made its own smaller waits for these words.
      if (value < 4096) sender.mustSayNoTable = true;
    } else if (name === Setting.enablePush && value > 1) {
      return [ErrorCode.protocolError, `ENABLE_PUSH of ${value}`];
    } else if (name === Setting.initialWindowSize) {
      if (value > windowMax) return [ErrorCode.flowControlError, `a window of ${value} bytes`];
      window = value;
    } else if (name === Setting.maxFrameSize) {
      if (value < frameSizeAtFirst || value > frameSizeLimit) {
        return [ErrorCode.protocolError, `MAX_FRAME_SIZE of ${value}`];
      }
      sender.frameSizeMax = value;
    }
  }
  const more = window - sender.windowOfStreams;
  if (more === 0) return undefined;
  sender.windowOfStreams = window;
  // The windows of open streams change by the difference; they may become negative.
  for (const stream of streams) {
    if (stream.sendWindow + more > windowMax) {
      return [ErrorCode.flowControlError, "a stream's window above 2^31 - 1"];
    }
    sender.widen(stream, more);
  }
  return undefined;
}
