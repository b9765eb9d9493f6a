/** Snapshots in files: their names, permissions, and what killed processes leave. */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
} from "../_assert.ts";
import { ExperienceReplay, float32 } from "@exrp/replay";
import { openKernel } from "../../ffi/library.ts";
import { assertReplayRejects, recordEpisode, smallReplay } from "../replay/_helpers.ts";

const ROOT = new URL("../..", import.meta.url);
const MINUTES_AGO = new Date(Date.now() - 5 * 60_000);

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

/** Calls `use` with an empty folder, and removes it. */
async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Starts a program in a process of its own, without prompts. */
function start(code: string, permissions: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "--no-check",
      "--ext=ts",
      ...permissions,
      `data:application/typescript,${encodeURIComponent(code)}`,
    ],
    cwd: ROOT,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function outputOf(process: Deno.ChildProcess): Promise<string> {
  const { stdout, stderr } = await process.output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout).trim() + decoder.decode(stderr).trim();
}

const MOD = new URL("mod.ts", ROOT).href;

/** A program that saves to `path` and says how that went. */
function saving(path: string): string {
  return `
    import { ExperienceReplay, float32 } from ${JSON.stringify(MOD)};
    const replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
    try {
      await replay.serialize(${JSON.stringify(path)});
      console.log("saved");
    } catch (error) {
      console.log(error.name, error.code, error.message);
    }
  `;
}

Deno.test("a URL with # or ? names the file that it names for every other reader", async () => {
  // The name of the new file got lost behind the #, so that nothing could be saved or the target was written to directly.
  await inFolder(async (folder) => {
    using replay = await smallReplay();
    recordEpisode(replay, 3);
    const bytes = await replay.serialize();
    for (const end of ["a.snap#1", "b.snap?v=2", "c%23d%3F.snap?x#y", "e f%20g.snap"]) {
      const url = new URL(`file://${folder}/${end}`);
      await Deno.writeTextFile(url, "old");
      await replay.serialize(url);
      assertEquals(await Deno.readFile(url), bytes);
      await replay.unserialize(url);
    }
    await replay.serialize(`${folder}/h#i?j.snap`);
    const names = ["a.snap", "b.snap", "c#d?.snap", "e f g.snap", "h#i?j.snap"];
    assertEquals(namesIn(folder), names);
  });
});

Deno.test("what a missing permission is for is said before anything is written", async () => {
  // With --allow-write alone the whole snapshot was written, and then lost when it was to be renamed.
  await inFolder(async (folder) => {
    const kernel = await openKernel();
    const path = `${folder}/a.snap`;
    await Deno.writeTextFile(path, "old");
    const cases: readonly (readonly [read: string, write: string[], expected: RegExp])[] = [
      [ROOT.pathname, [`--allow-write=${folder}`], /permission .*--allow-read=\S+$/],
      [
        ROOT.pathname,
        [`--allow-write=${path}`],
        /permission .*--allow-write=\S+ --allow-read=\S+$/,
      ],
      [ROOT.pathname, [], /permission .*--allow-write=\S+ --allow-read=\S+$/],
      [`${ROOT.pathname},${folder}`, [`--allow-write=${folder}`], /^saved$/],
    ];
    for (const [k, [read, write, expected]] of cases.entries()) {
      const flags = [`--allow-ffi=${kernel.path}`, `--allow-read=${read}`, "--allow-env", ...write];
      const out = await outputOf(start(saving(path), flags));
      assert(expected.test(out), out);
      assertEquals(namesIn(folder), ["a.snap"]);
      assertEquals(await Deno.readTextFile(path) === "old", k < 3);
    }
  });
});

Deno.test("a save removes what killed saves of the same name left, and no other file", async () => {
  // After 110 killed saves, 85 files of full size were left.
  await inFolder(async (folder) => {
    using replay = await smallReplay();
    const left = ["a.snap.exrp-0000000.tmp", "a.snap.exrp-zz19abc.tmp"];
    const others = [
      "a.snap.exrp-000000.tmp",
      "a.snap.exrp-00000000.tmp",
      "a.snap.exrp-ABCDEFG.tmp",
      "a.snap.old.tmp",
      "aa.snap.exrp-0000000.tmp",
      "b.snap.exrp-0000000.tmp",
    ];
    for (const name of [...left, ...others]) {
      await Deno.writeTextFile(`${folder}/${name}`, "half of a snapshot");
      await Deno.utime(`${folder}/${name}`, MINUTES_AGO, MINUTES_AGO);
    }
    await Deno.mkdir(`${folder}/a.snap.exrp-1111111.tmp`);
    // One that was made just now: its writer may not have locked it yet.
    await Deno.writeTextFile(`${folder}/a.snap.exrp-2222222.tmp`, "");
    await replay.serialize(`${folder}/a.snap`);
    const kept = ["a.snap", "a.snap.exrp-1111111.tmp", "a.snap.exrp-2222222.tmp", ...others];
    assertEquals(namesIn(folder), kept.sort());
  });
});

Deno.test("a file that a live process writes stays, however old; once the process is killed, it goes", async () => {
  await inFolder(async (folder) => {
    using replay = await smallReplay();
    const temporary = `${folder}/a.snap.exrp-0000000.tmp`;
    const writer = start(
      `
      const file = Deno.openSync(${JSON.stringify(temporary)}, { write: true, createNew: true });
      file.lockSync(true);
      file.utimeSync(${MINUTES_AGO.getTime() / 1000}, ${MINUTES_AGO.getTime() / 1000});
      console.log("locked");
      setInterval(() => {}, 1000);
      `,
      [`--allow-write=${folder}`],
    );
    const reader = writer.stdout.getReader();
    await reader.read();
    await replay.serialize(`${folder}/a.snap`);
    assertEquals(namesIn(folder), ["a.snap", "a.snap.exrp-0000000.tmp"]);
    writer.kill("SIGKILL");
    await writer.status;
    await reader.cancel();
    await writer.stderr.cancel();
    await replay.serialize(`${folder}/a.snap`);
    assertEquals(namesIn(folder), ["a.snap"]);
  });
});

Deno.test("two programs that save to one name at once both succeed, and leave one whole snapshot", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/a.snap`;
    const code = `
      import { ExperienceReplay, float32 } from ${JSON.stringify(MOD)};
      const replay = await ExperienceReplay.create({ capacity: 20000, state: float32(64) });
      let episode = replay.newEpisode();
      const state = new Float32Array(64);
      for (let k = 0; k < 20000; k++) episode = replay.record(episode, state, 0, 0);
      for (let k = 0; k < 5; k++) await replay.serialize(${JSON.stringify(path)});
      console.log("saved");
    `;
    const outputs = await Promise.all([1, 2].map(() => outputOf(start(code, ["--allow-all"]))));
    assertEquals(outputs, ["saved", "saved"]);
    assertEquals(namesIn(folder), ["a.snap"]);
    using replay = await ExperienceReplay.create({ capacity: 20000, state: float32(64) });
    await replay.unserialize(path);
    assertStrictEquals(replay.recordCount, 20000);
  });
});

Deno.test("a file that can't be written or read is an error with a code, and the system's error as its cause", async () => {
  await inFolder(async (folder) => {
    using replay = await smallReplay();
    const missing = await assertReplayRejects(replay.serialize(`${folder}/none/a.snap`), "file");
    assertInstanceOf(missing.cause, Deno.errors.NotFound);
    assert(missing.message.startsWith(`serialize(): can't write "${folder}/none/a.snap": `));
    await Deno.mkdir(`${folder}/taken/inside`, { recursive: true });
    await assertReplayRejects(replay.serialize(`${folder}/taken`), "file");
    await assertReplayRejects(replay.unserialize(`${folder}/taken`), "file");
    assertEquals(namesIn(folder), ["taken"]);
  });
});

Deno.test("a URL of another scheme is refused with what is needed", async () => {
  using replay = await smallReplay();
  const url = new URL("http://127.0.0.1/a.snap");
  for (
    const [name, call] of [
      ["serialize", () => replay.serialize(url)],
      ["unserialize", () => replay.unserialize(url)],
    ] as const
  ) {
    const { message } = await assertRejects(call, TypeError) as Error;
    assertStrictEquals(
      message,
      `${name}() takes a URL that begins with file:, got "http://127.0.0.1/a.snap"`,
    );
  }
});

Deno.test("a save to a link replaces the file behind it, and the link stays", async () => {
  // The link became a plain file, and the file that it led to kept the old snapshot.
  await inFolder(async (folder) => {
    using replay = await smallReplay();
    recordEpisode(replay, 3);
    const bytes = await replay.serialize();
    await Deno.mkdir(`${folder}/disk/inner`, { recursive: true });
    await Deno.symlink("disk/inner", `${folder}/short`);
    const links = [["near", "disk/a.snap"], ["far", "near"], ["short/up", "../b.snap"]] as const;
    for (const [link, to] of links) await Deno.symlink(to, `${folder}/${link}`);
    for (const round of ["new", "old"]) {
      for (const [link, to] of links) {
        const path = `${folder}/${link}`;
        await replay.serialize(path);
        assertStrictEquals(await Deno.readLink(path), to, round);
        assertEquals(await Deno.readFile(path), bytes);
      }
    }
    assertEquals(namesIn(`${folder}/disk`), ["a.snap", "b.snap", "inner"]);
    await Deno.symlink("loop", `${folder}/loop`);
    const { message } = await assertReplayRejects(replay.serialize(`${folder}/loop`), "file");
    assert(message.endsWith("still no file is found behind 40 links"), message);
    assertStrictEquals(await Deno.readLink(`${folder}/loop`), "loop");
  });
});

Deno.test({
  name: "a save keeps the mode of the file that it replaces",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    // A file that only its owner may read became one that everybody may.
    await inFolder(async (folder) => {
      using replay = await smallReplay();
      const path = `${folder}/a.snap`;
      for (const mode of [0o600, 0o666, 0o640]) {
        await Deno.writeTextFile(path, "old");
        await Deno.chmod(path, mode);
        await replay.serialize(path);
        assertStrictEquals(((await Deno.stat(path)).mode ?? 0) & 0o7777, mode);
      }
      await Deno.writeTextFile(`${folder}/umask`, "");
      await replay.serialize(`${folder}/b.snap`);
      const [own, usual] = [`${folder}/b.snap`, `${folder}/umask`].map((each) =>
        Deno.statSync(each).mode
      );
      assertStrictEquals(own, usual);
    });
  },
});

Deno.test({
  name: "a save to a pipe goes through it, and the pipe stays",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    // The pipe became a plain file, and so did a device.
    await inFolder(async (folder) => {
      using replay = await smallReplay();
      recordEpisode(replay, 3);
      const bytes = await replay.serialize();
      const pipe = `${folder}/pipe`;
      await new Deno.Command("mkfifo", { args: [pipe] }).output();
      const reader = new Deno.Command("cat", { args: [pipe], stdout: "piped" }).spawn();
      await replay.serialize(pipe);
      if (!(await Deno.lstat(pipe)).isFifo) reader.kill();
      assertEquals((await reader.output()).stdout, bytes);
      assert((await Deno.lstat(pipe)).isFifo);
    });
  },
});

Deno.test({
  name: "a save to a link like /dev/stdout writes behind what others wrote there",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await inFolder(async (folder) => {
      await Deno.symlink("/proc/self/fd/1", `${folder}/out`);
      const code = `
        import { ExperienceReplay, float32 } from ${JSON.stringify(MOD)};
        const replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 5 });
        await replay.serialize(${JSON.stringify(`${folder}/out`)});
      `;
      await Deno.writeTextFile(`${folder}/main.ts`, code);
      const command = '(printf begin; "$0" run -A --no-check --quiet "$1"; printf end)';
      const args = [Deno.execPath(), `${folder}/main.ts`, `${folder}/all`];
      const run = async (shell: string): Promise<Uint8Array> => {
        const options = { args: ["-c", shell, ...args], cwd: ROOT };
        const { stdout, stderr } = await new Deno.Command("sh", options).output();
        assertEquals(new TextDecoder().decode(stderr), "");
        return stdout;
      };
      using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 5 });
      const expected = await new Blob(["begin", await replay.serialize(), "end"]).bytes();
      assertEquals(await run(command), expected);
      await run(`${command} >"$2"`);
      // The shell writes "end" where it left off, as it did not open the file to append.
      const whole = await Deno.readFile(`${folder}/all`);
      assertEquals(whole.subarray(8), expected.subarray(8, -3));
      assertStrictEquals(await Deno.readLink(`${folder}/out`), "/proc/self/fd/1");
    });
  },
});

Deno.test("a replay that is disposed while it is saved to a file leaves the old file as it was", async () => {
  await inFolder(async (folder) => {
    const replay = await ExperienceReplay.create({ capacity: 20_000, state: float32(64) });
    const state = new Float32Array(64);
    let episode = replay.newEpisode();
    for (let k = 0; k < 20_000; k++) episode = replay.record(episode, state, 0, 0);
    await Deno.writeTextFile(`${folder}/a.snap`, "old");
    const saving = replay.serialize(`${folder}/a.snap`);
    replay[Symbol.dispose]();
    const { message } = await assertReplayRejects(saving, "disposed");
    assertStrictEquals(message, "serialize(): the replay is disposed");
    assertStrictEquals(await Deno.readTextFile(`${folder}/a.snap`), "old");
    assertEquals(namesIn(folder), ["a.snap"]);
  });
});
