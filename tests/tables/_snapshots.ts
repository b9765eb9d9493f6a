/** What tests of saved tables share. */

/** Where each frame of a snapshot begins, and its end. */
export function borders(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const found = [0, 16];
  for (let at = 16; at < bytes.length; found.push(at)) {
    at += 24 + Number(view.getBigUint64(at + 8, true));
  }
  return found;
}
