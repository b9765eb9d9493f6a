/** The packages have what is used of them, by their own types, and the versions that are named. */
import { assertEquals } from "../_assert.ts";
import type { Arrow } from "../../interchange/_arrow.ts";
import type { Commander } from "../../interchange/command/commander.ts";
import type { H5Wasm } from "../../interchange/_hdf5.ts";
import { load, type versions } from "../../interchange/packages.ts";
import type { Hyparquet, HyparquetWriter } from "../../interchange/_parquet.ts";
import type { Zip } from "../../interchange/_npz.ts";
import * as arrow from "npm:apache-arrow@21.2.0";
import * as commander from "npm:commander@15.1.0";
import * as h5wasm from "npm:h5wasm@0.10.3/node";
import * as hyparquet from "npm:hyparquet@1.31.5";
import * as hyparquetWriter from "npm:hyparquet-writer@0.17.0";
import * as zip from "npm:@zip.js/zip.js@2.24.0";

Deno.test("what is used of each package is there", async () => {
  const has = async (
    name: keyof typeof versions,
    module: object,
    used: readonly string[],
    file?: string,
  ): Promise<void> => {
    assertEquals(await load<object>(name, file), module, name);
    assertEquals(used.filter((each) => !(each in module)), [], name);
  };
  const h5: (keyof H5Wasm)[] = ["ready", "File", "FS"];
  await has("h5wasm", h5wasm, h5, "/node");
  const reader: (keyof Hyparquet)[] = [
    ...(["parquetMetadata", "parquetSchema", "parquetRead", "snappyUncompress"] as const),
  ];
  await has("hyparquet", hyparquet, reader);
  const writer: (keyof HyparquetWriter)[] = ["ByteWriter", "ParquetWriter"];
  await has("hyparquet-writer", hyparquetWriter, writer);
  const zipped: (keyof Zip)[] = ["configure", "Reader", "ZipReader", "ZipWriter"];
  await has("@zip.js/zip.js", zip, zipped);
  const table: (keyof Arrow)[] = ["RecordBatchFileWriter", "AsyncByteQueue"];
  await has("apache-arrow", arrow, table);
  const line: (keyof Commander)[] = ["Command"];
  await has("commander", commander, line);
});

Deno.test("the everyday entry fetches no package, and that of interchange none before a format is used", async () => {
  const script = `
    import "@exrp/replay";
    import "@exrp/replay/interchange";
  `;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "interchange/mod.ts"],
    cwd: new URL("../..", import.meta.url),
  }).output();
  const { modules, npmPackages } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(Object.keys(npmPackages ?? {}), [], script);
  assertEquals(
    (modules as { specifier: string }[]).filter(({ specifier }) => specifier.startsWith("npm:")),
    [],
  );
});
