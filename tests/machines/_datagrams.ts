/**
 * Sends datagrams from one machine to another, which sends each back, and prints what came: `{ numbers, leastMs }`. Without the address of another one, it is the other
 * one. It needs `--unstable-net`.
 *
 * @module
 */

import { pause } from "../_wait.ts";

const PORT = 9000;
const COUNT = 300;
const LATER = 100;
/** How many are sent at once. */
const TURN = 10;
/** How many may be on their way: the system keeps few for a program that is slow. */
const AWAY_MAX = 90;

const [hostname] = Deno.args;
const socket = Deno.listenDatagram({ hostname: "0.0.0.0", port: PORT, transport: "udp" });
if (hostname === undefined) {
  console.log("listening");
  for await (const [data, from] of socket) await socket.send(data, from);
} else {
  const numbers: number[] = [];
  let [newest, leastMs] = [-1, Infinity];
  (async () => {
    for await (const [data] of socket) {
      const view = new DataView(data.buffer);
      // One of a program before, which was on its way.
      if (view.getUint32(12) !== Deno.pid) continue;
      numbers.push(view.getUint32(0));
      newest = Math.max(newest, view.getUint32(0));
      const tookMs = performance.now() - view.getFloat64(4);
      leastMs = Math.min(leastMs, tookMs);
    }
  })();
  const view = new DataView(new ArrayBuffer(16));
  view.setUint32(12, Deno.pid);
  // Once one comes that was sent so much later, the others have come, or never will.
  for (let number = 0; newest < COUNT + LATER;) {
    if (number % TURN === 0) await pause(10);
    if (number > newest + AWAY_MAX) {
      await pause(1);
      continue;
    }
    view.setUint32(0, number++);
    view.setFloat64(4, performance.now());
    await socket.send(new Uint8Array(view.buffer), { hostname, port: PORT, transport: "udp" });
  }
  console.log(JSON.stringify({ numbers: numbers.filter((number) => number < COUNT), leastMs }));
  Deno.exit();
}
