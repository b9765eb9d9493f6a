/**
 * The package behind a server that speaks as JSR does: `JSR_URL` makes Deno ask it.
 *
 * JSR serves three kinds of files: which versions there are, what a version has, and the files themselves.
 *
 * @module
 */
import type { Manifest } from "./_package.ts";

/** A server that runs until it is disposed. */
export interface JsrServer extends AsyncDisposable {
  /** What `JSR_URL` must be. */
  readonly url: string;
  /** The paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** Resolves when the server has stopped. */
  readonly finished: Promise<void>;
}

/** The type of a file, by the end of its name. */
const types: Readonly<Record<string, string>> = {
  ts: "text/typescript",
  json: "application/json",
  wasm: "application/wasm",
};

async function hexOfSha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** A module as JSR publishes it: what `deno.json` says of a bare import stands in the import itself. */
function withWholeImports(text: string, imports: Manifest["imports"]): string {
  return text.replaceAll(
    /(?<=^(?:import|export)\b[^"]*|^\} from )"(@[^"/]+\/[^"/]+)(\/[^"]*)?"/gm,
    (
      whole,
      name: string,
      path = "",
    ) => imports[name] === undefined ? whole : `"${imports[name]}${path}"`,
  );
}

/** Serves these files as the only version of the only package. Each has its name in the package, and where it lies. */
export async function serveJsr(
  { name, version, exports, imports }: Manifest,
  files: ReadonlyMap<string, string>,
): Promise<JsrServer> {
  const [scope, bare] = name.replace("@", "").split("/");
  const answers = new Map<string, string | Uint8Array<ArrayBuffer>>();
  const manifest: Record<string, { size: number; checksum: string }> = {};
  for (const [file, path] of files) {
    const bytes = file.endsWith(".ts")
      ? new TextEncoder().encode(withWholeImports(await Deno.readTextFile(path), imports))
      : await Deno.readFile(path);
    manifest[`/${file}`] = {
      size: bytes.length,
      checksum: `sha256-${await hexOfSha256(bytes)}`,
    };
    answers.set(`/${name}/${version}/${file}`, bytes);
  }
  const versions = { [version]: { createdAt: "2026-01-01T00:00:00.000Z" } };
  const meta = { scope, name: bare, latest: version, versions };
  answers.set(`/${name}/meta.json`, JSON.stringify(meta));
  answers.set(`/${name}/${version}_meta.json`, JSON.stringify({ manifest, exports }));

  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const answer = answers.get(pathname);
    if (answer === undefined) return new Response("not found", { status: 404 });
    const type = types[pathname.slice(pathname.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    return new Response(answer, { headers: { "content-type": type } });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    asked,
    finished: server.finished,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
