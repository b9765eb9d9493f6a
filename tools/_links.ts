/**
 * Finds links that lead nowhere, in Markdown, in comments of code and in HTML.
 *
 * Anchors are those that GitHub gives its headings. The docs site gives the same ones, so that a link works in both.
 *
 * @module
 */
import { posix } from "node:path";

/** A link that is written in a file. */
export interface Link {
  /** Where it leads, as it is written. */
  readonly target: string;
  /** The line in which it stands, from 1. */
  readonly line: number;
}

/** A page that is named by its path from the repository's root, and the anchor in it. */
const NAMED_PAGE = /\b(docs\/[\w/]+\.md)(?:#([\w-]+))?/g;

/** The lines of a Markdown text, with those inside code fences emptied. */
function proseLines(text: string): string[] {
  let fence = "";
  return text.split("\n").map((line) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence === "" && mark !== "") {
      fence = mark;
      return "";
    }
    if (fence === "") return line;
    if (mark.startsWith(fence)) fence = "";
    return "";
  });
}

/** The links and pictures of a Markdown text, outside of code. */
export function markdownLinks(text: string): Link[] {
  return proseLines(text).flatMap((line, index) =>
    [...line.replace(/`[^`]*`/g, "``").matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)].map((
      [, target = ""],
    ) => ({ target, line: index + 1 }))
  );
}

/** The anchors of a Markdown text's headings. */
export function headingAnchors(text: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const line of proseLines(text)) {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}_\- ]/gu, "").trim().replace(/ /g, "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** Whether a link leads to another server, which is not asked. */
export function isElsewhere(target: string): boolean {
  return /^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(target);
}

/** The file that a link from another file means, as a path from the same root, and its anchor. */
export function resolveLink(from: string, target: string): { file: string; anchor: string } {
  const [path = "", anchor = ""] = target.split("#");
  const bare = decodeURIComponent(path.split("?")[0] ?? "");
  const file = bare === "" ? from : posix.normalize(posix.join(posix.dirname(from), bare));
  return { file, anchor: decodeURIComponent(anchor) };
}

/**
 * What is wrong with the links of Markdown files, one sentence each.
 *
 * @param pages The texts by their paths from the repository's root.
 * @param isFile Whether such a path is a file or a folder of the repository.
 */
export function brokenMarkdownLinks(
  pages: ReadonlyMap<string, string>,
  isFile: (path: string) => boolean,
): string[] {
  const anchors = new Map([...pages].map(([path, text]) => [path, headingAnchors(text)]));
  const broken: string[] = [];
  for (const [path, text] of pages) {
    for (const { target, line } of markdownLinks(text)) {
      if (isElsewhere(target)) continue;
      const { file, anchor } = resolveLink(path, target);
      if (!isFile(file)) broken.push(`${path}:${line}: ${target}: there is no ${file}`);
      else if (anchor !== "" && !(anchors.get(file)?.has(anchor) ?? true)) {
        broken.push(`${path}:${line}: ${target}: ${file} has no heading #${anchor}`);
      }
    }
  }
  return broken;
}

/** The documentation comments of a module as Markdown. Other lines are empty, so each has its number. */
function commentLines(code: string): string {
  let isInside = false;
  return code.split("\n").map((line) => {
    if (/^\s*\/\*\*/.test(line)) isInside = true;
    if (!isInside) return "";
    if (line.includes("*/")) isInside = false;
    return line.replace(/^\s*(?:\/\*\*|\*(?!\/)) ?/, "").replace(/\*\/.*/, "");
  }).join("\n");
}

/**
 * What is wrong with the links of comments in modules that are published, one sentence each. JSR and the pages of the API show these
 * comments, and a relative path leads to different places there and in the repository. So a comment names a page by its path from the
 * repository's root, as code: `docs/tables.md`. In the docs site that becomes a link.
 *
 * @param modules The texts by their paths from the repository's root.
 * @param pages The Markdown pages, likewise.
 */
export function brokenCommentLinks(
  modules: ReadonlyMap<string, string>,
  pages: ReadonlyMap<string, string>,
): string[] {
  const broken: string[] = [];
  for (const [path, code] of modules) {
    const comments = commentLines(code);
    for (const { target, line } of markdownLinks(comments)) {
      if (isElsewhere(target)) continue;
      broken.push(
        `${path}:${line}: ${target}: no relative path leads anywhere from JSR; name the page as code, such as \`docs/tables.md\``,
      );
    }
    for (const [index, line] of proseLines(comments).entries()) {
      for (const [target, page = "", anchor = ""] of line.matchAll(NAMED_PAGE)) {
        const text = pages.get(page);
        if (text === undefined) broken.push(`${path}:${index + 1}: there is no ${page}`);
        else if (anchor !== "" && !headingAnchors(text).has(anchor)) {
          broken.push(`${path}:${index + 1}: ${target}: ${page} has no heading #${anchor}`);
        }
      }
    }
  }
  return broken;
}

/** An attribute's text without the escapes that the site's generators write. */
function unescaped(text: string): string {
  return text.replaceAll("&#x2F;", "/").replaceAll("&amp;", "&");
}

/** What is wrong with the links of built pages, one sentence each. Anchors are compared with `id` and `name`. */
export function brokenHtmlLinks(
  pages: ReadonlyMap<string, string>,
  isFile: (path: string) => boolean,
): string[] {
  const ids = new Map([...pages].map(([path, text]) => [
    path,
    new Set([...text.matchAll(/\s(?:id|name)="?([^"\s>]+)/g)].map(([, id]) => id)),
  ]));
  const broken: string[] = [];
  for (const [path, text] of pages) {
    for (const [, target = ""] of text.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (isElsewhere(target) || target === "") continue;
      const { file: found, anchor } = resolveLink(path, unescaped(target));
      const file = found.endsWith("/") ? `${found}index.html` : found;
      if (file.startsWith("..") || target.startsWith("/")) {
        broken.push(`${path}: ${target}: leads out of the site`);
      } else if (!isFile(file)) broken.push(`${path}: ${target}: there is no ${file}`);
      else if (anchor !== "" && ids.get(file)?.has(anchor) === false) {
        broken.push(`${path}: ${target}: ${file} has no #${anchor}`);
      }
    }
  }
  return broken;
}
