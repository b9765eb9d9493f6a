/**
 * SETTINGS both ways: those of the server are written, those of the client are obeyed.
 *
 * @module
 */
import type { Http2Limits } from "./limits.ts";
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
import type { Sender } from "./sender.ts";
import type { Http2Stream } from "./stream.ts";

/** Bytes of one setting. */
export const settingBytes = 6;

/** Writes the server's SETTINGS, and makes the window of the connection as large as the limits say. */
export function writeSettings(sender: Sender, limits: Http2Limits): void {
  const settings = [
    [Setting.maxConcurrentStreams, limits.streamsMax],
    [Setting.initialWindowSize, limits.streamWindow],
    [Setting.maxFrameSize, limits.frameSizeMax],
    [Setting.maxHeaderListSize, limits.headerListMax],
  ] as const;
  let at = sender.frame(FrameType.settings, 0, 0, settingBytes * settings.length);
  for (const [name, value] of settings) {
    sender.output.bytes[at] = 0;
    sender.output.bytes[at + 1] = name;
    write32(sender.output.bytes, at + 2, value);
    at += settingBytes;
  }
  const more = limits.connectionWindow - windowAtFirst;
  if (more > 0) sender.frameOf32(FrameType.windowUpdate, 0, more);
}

/** A setting that breaks a rule: the code that it asks for, and words. */
export interface SettingFault {
  readonly code: number;
  readonly why: string;
}

/**
 * Obeys the client's settings of a frame; returns the first fault. Where the frame has several windows, only the last one is set: a frame of
 * thousands must not walk over the streams for each.
 */
export function applySettings(
  bytes: Uint8Array,
  from: number,
  to: number,
  sender: Sender,
  streams: Iterable<Http2Stream>,
): SettingFault | undefined {
  let window = sender.windowOfStreams;
  for (let at = from; at < to; at += settingBytes) {
    const name = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
    const value = read32(bytes, at + 2);
    const fault = applySetting(name, value, sender);
    if (fault !== undefined) return fault;
    if (name === Setting.initialWindowSize) window = value;
  }
  return setWindows(window, sender, streams);
}

function applySetting(name: number, value: number, sender: Sender): SettingFault | undefined {
  switch (name) {
    case Setting.headerTableSize:
      // The encoder uses no table. A decoder that made its own smaller waits for these words.
      if (value < 4096) sender.mustSayNoTable = true;
      return undefined;
    case Setting.enablePush:
      if (value <= 1) return undefined;
      return { code: ErrorCode.protocolError, why: `ENABLE_PUSH of ${value}` };
    case Setting.initialWindowSize:
      if (value <= windowMax) return undefined;
      return { code: ErrorCode.flowControlError, why: `a window of ${value} bytes` };
    case Setting.maxFrameSize:
      if (value < frameSizeAtFirst || value > frameSizeLimit) {
        return { code: ErrorCode.protocolError, why: `MAX_FRAME_SIZE of ${value}` };
      }
      sender.frameSizeMax = value;
      return undefined;
    default:
      return undefined;
  }
}

/** Changes the windows of all open streams by the difference; they may become negative. */
function setWindows(
  value: number,
  sender: Sender,
  streams: Iterable<Http2Stream>,
): SettingFault | undefined {
  const more = value - sender.windowOfStreams;
  if (more === 0) return undefined;
  sender.windowOfStreams = value;
  for (const stream of streams) {
    if (stream.sendWindow + more > windowMax) {
      return { code: ErrorCode.flowControlError, why: "a stream's window above 2^31 - 1" };
    }
    sender.widen(stream, more);
  }
  return undefined;
}
