/**
 * A durable replay on a disk that is full: it says so, goes on in memory if it is asked to, and nothing that was flushed is lost. And one on a disk that may only
 * be read.
 *
 * @module
 */
import { assert, assertEquals } from "../../_assert.ts";

const PROGRAM = `
import { ExperienceReplay, float32, uniform } from ${
  JSON.stringify(new URL("../../../mod.ts", import.meta.url))
};
const [folder, whenDiskFails] = Deno.args;
const options = { capacity: 100_000, state: float32(64), whenDiskFails };
const replay = await ExperienceReplay.open(folder + "/" + whenDiskFails, options);
let [episode, count, flushed] = [replay.newEpisode(), 0, 0];
const record = () => {
  for (let k = 0; k < 500; k++, count++) episode = replay.record(episode, new Float32Array(64).fill(count), 0, count);
};
try {
  for (;;) {
    record();
    await replay.flush();
    flushed = count;
  }
} catch (error) {
  console.log(error.code + " " + error.message);
}
try {
  record();
  console.log("records go on");
} catch (error) {
  console.log(error.code);
}
console.log(await replay.flush().catch((error) => error.code), replay.durability.hasFailed);
for (const make of [() => replay.newPickSelector(uniform()), () => replay.newPickView({ length: 2 })]) {
  try {
    make();
    console.log("made");
  } catch (error) {
    console.log(error.code);
  }
}
const saved = await replay.serialize();
console.log(replay.selectors.length, String(replay).length > 0, saved.length > count * 256);
replay[Symbol.dispose]();
await Deno.remove(folder + "/filler");
using again = await ExperienceReplay.open(folder + "/" + whenDiskFails);
console.log(again.recordCount >= flushed, flushed > 0);
again.record(again.newEpisode(), new Float32Array(64), 0, 0);
await again.flush();
console.log("and on");
`;

/** Runs the program on disks of 4 MiB, of which 2 MiB are taken by a file that the program removes in the end. */
const SHELL = `
mount -t tmpfs -o size=4m none "$1" || exit 77
head -c 2097152 /dev/zero > "$1/filler"
"$2" eval --no-check "$3" "$1" "$4"
`;

/** Whether this machine lets a program mount a file system of its own. */
function canMount(): boolean {
  try {
    const args = ["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k none /tmp"];
    return new Deno.Command("unshare", { args, stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

for (const whenDiskFails of ["throw", "memory"] as const) {
  Deno.test({
    name: `a full disk, with whenDiskFails: "${whenDiskFails}"`,
    ignore: !canMount(),
    fn: async () => {
      const folder = await Deno.makeTempDir();
      try {
        const args = [
          ...["-Urm", "sh", "-c", SHELL, "sh"],
          ...[folder, Deno.execPath(), PROGRAM, whenDiskFails],
        ];
        const { code, stdout, stderr } = await new Deno.Command("unshare", { args }).output();
        const [full = "", ...lines] = new TextDecoder().decode(stdout).trim().split("\n");
        assert(full.startsWith("disk ") && full.includes("ENOSPC"), full);
        assertEquals([code, new TextDecoder().decode(stderr), ...lines], [
          ...[0, ""],
          whenDiskFails === "throw" ? "disk" : "records go on",
          "disk true",
          // What can't be written down is not made, and leaves nothing behind.
          ...(whenDiskFails === "throw"
            ? ["disk", "disk", "0 true true"]
            : ["made", "made", "1 true true"]),
          ...["true true", "and on"],
        ]);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

const READ_ONLY = `
import { ExperienceReplay, float32 } from ${
  JSON.stringify(new URL("../../../mod.ts", import.meta.url))
};
const [folder, what] = Deno.args;
const options = what === "make" ? { capacity: 10, state: float32(1) } : {};
const opened = ExperienceReplay.open(folder + "/replay", options);
console.log(await opened.then((replay) => replay[Symbol.dispose](), (error) => error.code + " " + error.message));
`;

const READ_ONLY_SHELL = `
mount -t tmpfs -o size=4m none "$1" || exit 77
"$2" eval --no-check "$3" "$1" make
mount -o remount,ro "$1"
"$2" eval --no-check "$3" "$1" read
`;

Deno.test({
  name: "a folder that may only be read: open() says what it needs",
  ignore: !canMount(),
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      const args = [
        ...["-Urm", "sh", "-c", READ_ONLY_SHELL, "sh"],
        ...[folder, Deno.execPath(), READ_ONLY],
      ];
      const { code, stdout, stderr } = await new Deno.Command("unshare", { args }).output();
      const lines = new TextDecoder().decode(stdout).trim().split("\n");
      assertEquals([code, lines[0]], [0, "undefined"], new TextDecoder().decode(stderr));
      assert(
        /^permission .*can't be written \(.*EROFS.*an open replay needs that/.test(lines[1] ?? ""),
        lines[1],
      );
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
