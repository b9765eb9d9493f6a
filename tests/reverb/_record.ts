/**
 * Records the real client as it talks to the real server, by a proxy between them, and writes `tests/reverb/streams/<scenario>.json`:
 *
 * `deno run -A tests/reverb/_record.ts [scenario …]`
 */
import { runPython, startReal } from "./_real.ts";
import { scenarios, tables } from "./_scenarios.ts";
import { type Answers, Dialogue, type Recording, type Step } from "./_streams.ts";

/** What came through the proxy, in order. */
interface Piece {
  readonly connection: number;
  readonly isClient: boolean;
  /** Undefined where it closed. */
  readonly bytes: Uint8Array | undefined;
}

/** Lets a client talk to a server, and writes down what they say. */
function listen(port: number, pieces: Piece[]): Deno.TcpListener {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pump = async (
    from: Deno.TcpConn,
    to: Deno.TcpConn,
    connection: number,
    isClient: boolean,
  ): Promise<void> => {
    const buffer = new Uint8Array(1 << 16);
    for (;;) {
      const count = await from.read(buffer).catch(() => null);
      const bytes = count === null ? undefined : buffer.slice(0, count);
      if (bytes !== undefined || isClient) pieces.push({ connection, isClient, bytes });
      if (bytes === undefined) break;
      for (let at = 0; at < bytes.length;) {
        at += await to.write(bytes.subarray(at)).catch(() => bytes.length);
      }
    }
    try {
      to.close();
    } catch {
      // The other direction closed it.
    }
  };
  void (async (): Promise<void> => {
    let connection = 0;
    for await (const client of listener) {
      const server = await Deno.connect({ hostname: "127.0.0.1", port });
      client.setNoDelay(true);
      server.setNoDelay(true);
      const index = connection++;
      void pump(client, server, index, true);
      void pump(server, client, index, false);
    }
  })().catch(() => {});
  return listener;
}

/** Makes a recording of what was said. */
function arrange(scenario: string, pieces: readonly Piece[]): Recording {
  const dialogues = new Map<number, Dialogue>();
  const steps: Step[] = [];
  const told = new Map<string, number>();
  for (const { connection, isClient, bytes } of pieces) {
    let dialogue = dialogues.get(connection);
    if (dialogue === undefined) dialogues.set(connection, dialogue = new Dialogue());
    if (!isClient) {
      if (bytes !== undefined) dialogue.fromServer(bytes);
      continue;
    }
    const after: Record<string, number> = {};
    for (const [index, { streams }] of dialogues) {
      for (const [id, { progress }] of streams) {
        const name = `${index}:${id}`;
        if (progress === (told.get(name) ?? 0)) continue;
        told.set(name, progress);
        after[name] = progress;
      }
    }
    const hasNews = Object.keys(after).length > 0;
    const send = bytes?.toBase64();
    steps.push({ connection, ...hasNews && { after }, ...send !== undefined && { send } });
    if (bytes !== undefined) dialogue.fromClient(bytes);
  }
  const answers: Record<string, Answers> = {};
  for (const [index, { streams }] of dialogues) {
    for (const [id, stream] of streams) answers[`${index}:${id}`] = stream.answers;
  }
  return { scenario, steps, answers };
}

/** Records one scenario. */
export async function record(scenario: string): Promise<Recording> {
  const pieces: Piece[] = [];
  await using server = await startReal(tables);
  const listener = listen(server.port, pieces);
  const script = new URL("scenarios.py", import.meta.url);
  const said = await runPython(script, [scenario, listener.addr.port]);
  console.log(`${scenario}: ${said.slice(0, 300).trim()}`);
  listener.close();
  return arrange(scenario, pieces);
}

if (import.meta.main) {
  for (const scenario of Deno.args.length > 0 ? Deno.args : scenarios) {
    const text = `${JSON.stringify(await record(scenario), null, 1)}\n`;
    await Deno.writeTextFile(new URL(`streams/${scenario}.json`, import.meta.url), text);
  }
  Deno.exit();
}
