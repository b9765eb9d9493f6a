/** A shard as a program and an actor, over NATS with TLS, where both show a certificate. Without `nats-server` or `openssl`, this is left out. */
import { connect, type ConnectionOptions } from "npm:@nats-io/transport-node@3.4.0";
import { assertEquals, assertRejects } from "../_assert.ts";
import { onWasm } from "../_native.ts";
import { ExperienceReplay } from "@exrp/replay";
import { shardWriter } from "@exrp/replay/shards";
import { findNats, startNats } from "../../tools/_nats.ts";
import { inRepository } from "../../tools/_repository.ts";
import type { NUMBERED } from "./_numbered.ts";

const nats = await findNats();

/** Whether a command succeeds; false where there is no such program. */
async function runs(command: string, args: readonly string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, {
      args: [...args],
      stdout: "null",
      stderr: "null",
    })
      .output();
    return success;
  } catch {
    return false;
  }
}

const hasOpenssl = await runs("openssl", ["version"]);

Deno.test({
  name: "a shard and an actor speak TLS, and a server with an unknown certificate is refused",
  ignore: nats === undefined || !hasOpenssl || onWasm,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    const [certFile, keyFile] = [`${folder}/cert.pem`, `${folder}/key.pem`];
    const isMade = await runs("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
      ...["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
      ...["-keyout", keyFile, "-out", certFile],
    ]);
    assertEquals(isMade, true, "openssl made no certificate");
    const files = `cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${certFile}"`;
    const server = await startNats(nats as string, `tls { ${files}, verify: true }`);
    const tls = { caFile: certFile, certFile, keyFile };
    // The certificate is one of a name. Clients check that.
    const servers = server.address.replace("127.0.0.1", "localhost");
    await Deno.writeTextFile(
      `${folder}/shard.json`,
      JSON.stringify({
        ...{ name: "a", directory: `${folder}/a`, nats: { servers, tls } },
        replay: { capacity: 100, state: "int32(2)", action: "int32()", reward: "float32()" },
        selectors: ["uniform"],
      }),
    );
    const shard = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", "--quiet", "--lock=deno.lock", "shards/main.ts"],
        `--config=${folder}/shard.json`,
      ],
      cwd: inRepository(),
    }).spawn();
    try {
      const enter = (options: ConnectionOptions) => connect({ servers, ...options });
      const connection = await enter({ tls });
      const writer = await shardWriter(connection, { timeoutMs: 60_000 });
      const to = writer.replay as unknown as ExperienceReplay<typeof NUMBERED>;
      to.record(to.newEpisode(), [1, 0], 1, 1, { finalState: [2, 0] });
      await writer.close();
      await connection.close();
      // Nobody vouches for the server.
      await assertRejects(() => enter({ tls: { certFile, keyFile }, reconnect: false }), Error);
    } finally {
      shard.kill("SIGTERM");
      await shard.status;
      await server.kill();
    }
    {
      using replay = await ExperienceReplay.open(`${folder}/a`);
      assertEquals(replay.recordCount, 1);
    }
    await Deno.remove(folder, { recursive: true });
  },
});
