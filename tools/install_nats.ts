/**
 * The command of `deno task nats:install`: gets a NATS server for the tests and benches of shards, into `.cache/nats`.
 *
 * It builds one with Go. Where there is no Go, it says how to get a package of the system.
 *
 * @module
 */

import { findNats, NATS_FOLDER } from "./_nats.ts";

const SOURCE = "github.com/nats-io/nats-server/v2@v2.11.8";

/** Gets a server; returns the exit status. */
async function main(): Promise<number> {
  const found = await findNats();
  if (found !== undefined) {
    console.log(`there is a server: ${found}`);
    return 0;
  }
  try {
    const { success } = await new Deno.Command("go", {
      args: ["install", SOURCE],
      env: { GOBIN: NATS_FOLDER },
      stdin: "null",
    }).spawn().status;
    if (success) {
      console.log(`${NATS_FOLDER}/nats-server is ready`);
      return 0;
    }
    console.error(`go could not install ${SOURCE}`);
  } catch {
    console.error("there is no Go here");
  }
  console.error("get the server of your system instead: apt-get install nats-server");
  return 1;
}

if (import.meta.main) Deno.exit(await main());
