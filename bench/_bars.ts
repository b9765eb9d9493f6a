/**
 * Panels of bars as SVG, for a page that a reader may have open on a phone, by day or by night.
 *
 * The picture is narrow and its letters are large: 390 pixels of a screen show them 11 pixels high. The colours follow the reader's colour scheme.
 * The background is that of the scheme too. So the picture stays readable where a page is bright and the system is dark.
 *
 * @module
 */

/** Whose a bar is: ours stand out. */
export type Whose = "ours" | "reused" | "other";

/** One bar of a panel. */
export interface Bar {
  readonly name: string;
  readonly whose: Whose;
  readonly value: number;
  /** What stands at the bar's end. */
  readonly label: string;
}

/** One panel of bars, which has a scale of its own. */
export interface BarPanel {
  readonly title: string;
  readonly subtitle: string;
  readonly bars: readonly Bar[];
  /** What stands below the bars; nothing without it. */
  readonly note?: string;
  /** Whether the panel takes the whole width. */
  readonly wide?: boolean;
  /** A value with a line through all bars, such as 1 of ratios. */
  readonly line?: number;
}

/** A picture of panels. */
export interface BarPicture {
  /** What the picture shows, for who can't see it. */
  readonly title: string;
  /** Lines above the panels. */
  readonly head: readonly string[];
  readonly panels: readonly BarPanel[];
  /** Lines below the panels. */
  readonly foot: readonly string[];
}

const WIDTH = 520;
const MARGIN = 10;
const GAP = 18;
const FONT = 15;
const LINE = 20;
const ROW = 21;
/** How wide a letter is at most, on average and in parts of the font's size: a plain one, and a bold one. */
const LETTER = 0.56;
const BOLD = 0.62;

const LIGHT = {
  paper: "#ffffff",
  text: "#1f2328",
  faint: "#59636e",
  ours: "#c8102e",
  reused: "#ec8a98",
  other: "#b6bec7",
};
const DARK: typeof LIGHT = {
  paper: "#0d1117",
  text: "#e6edf3",
  faint: "#9da7b3",
  ours: "#ff6b6b",
  reused: "#a8434a",
  other: "#505a65",
};

function rules(colours: typeof LIGHT): string {
  const { paper, text, faint, ours, reused, other } = colours;
  return `.paper{fill:${paper}}text{fill:${text}}.faint{fill:${faint}}.axis{stroke:${faint}}` +
    `rect.ours{fill:${ours}}rect.reused{fill:${reused}}rect.other{fill:${other}}text.ours,text.reused{fill:${ours}}`;
}

const STYLE =
  `<style>text{font:${FONT}px Helvetica,Arial,'Liberation Sans',Roboto,sans-serif}.bold{font-weight:600}` +
  `${rules(LIGHT)}@media (prefers-color-scheme:dark){${rules(DARK)}}</style>`;

interface TextOptions {
  readonly kind?: string;
  readonly anchor?: "start" | "end";
}

function text(x: number, y: number, content: string, options: TextOptions = {}): string {
  const { kind = "", anchor = "start" } = options;
  const of = (kind === "" ? "" : ` class="${kind}"`) +
    (anchor === "end" ? ' text-anchor="end"' : "");
  return `<text x="${round(x)}" y="${round(y)}"${of}>${escapeText(content)}</text>`;
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function widthOf(text: string, isBold: boolean): number {
  return [...text].length * FONT * (isBold ? BOLD : LETTER);
}

/**
 * The largest value that a panel shows in full. The longest bar may be so long that it would hide what the others say. Then the second
 * longest decides, and the longest is cut.
 */
function shownUpTo(bars: readonly Bar[]): number {
  const [longest = 1, second = longest] = bars.map(({ value }) => value).sort((a, b) => b - a);
  return longest > 1.5 * second ? 1.15 * second : longest;
}

/** Above the bars are the title, the subtitle and a small gap. */
const ABOVE = 2 * LINE + 4;

function panelHeight({ bars, note }: BarPanel): number {
  return ABOVE + ROW * bars.length + (note === undefined ? 0 : LINE);
}

function drawPanel(panel: BarPanel, left: number, top: number, width: number): string {
  const { title, subtitle, bars, note, line } = panel;
  const end = shownUpTo(bars);
  const labels = bars.map(({ value, label }) => value > end ? `→ ${label}` : label);
  // Where all bars are ours, none has to stand out.
  const isMixed = bars.some(({ whose }) => whose === "other");
  const bold = bars.map(({ whose }) => isMixed && whose !== "other");
  const names = left + Math.max(...bars.map(({ name }, k) => widthOf(name, bold[k] === true)));
  const wanted = bars.map(({ value }, k) =>
    (left + width - names - 6 - 5 - widthOf(labels[k] ?? "", bold[k] === true)) /
    Math.min(value, end)
  );
  const scale = Math.min(...wanted);
  const first = top + ABOVE;
  const rows = bars.map(({ name, whose, value }, k) => {
    const y = first + ROW * k;
    const length = Math.max(1.5, Math.min(value, end) * scale);
    const kind = bold[k] ? `${whose} bold` : "";
    return text(names, y + 15, name, { kind, anchor: "end" }) +
      `<rect class="${whose}" x="${round(names + 6)}" y="${y + 3}" width="${
        round(length)
      }" height="15"/>` +
      text(names + 6 + length + 5, y + 15, labels[k] ?? "", { kind });
  });
  const axis = line === undefined
    ? ""
    : `<path class="axis" d="M${round(names + 6 + line * scale)} ${first}v${
      ROW * bars.length
    }" stroke-dasharray="3 3"/>`;
  return [
    text(left, top + 15, title, { kind: "bold" }),
    text(left, top + 15 + LINE, subtitle, { kind: "faint" }),
    ...rows,
    axis,
    note === undefined ? "" : text(left, first + ROW * bars.length + 15, note, { kind: "faint" }),
  ].filter((part) => part !== "").join("\n");
}

/** Draws the panels, two in a row, and a wide one alone. */
export function barPanels({ title, head, panels, foot }: BarPicture): string {
  const column = (WIDTH - 2 * MARGIN - GAP) / 2;
  let y = MARGIN;
  const lines = (texts: readonly string[]): string[] =>
    texts.map((one) => {
      y += LINE;
      return text(MARGIN, y - 5, one, { kind: "faint" });
    });
  const parts = lines(head);
  y += GAP;
  for (let k = 0; k < panels.length;) {
    const [panel, next] = [panels[k], panels[k + 1]];
    if (panel === undefined) break;
    const row = panel.wide || next === undefined || next.wide ? [panel] : [panel, next];
    for (const [place, one] of row.entries()) {
      parts.push(
        drawPanel(one, MARGIN + place * (column + GAP), y, one.wide ? WIDTH - 2 * MARGIN : column),
      );
    }
    y += Math.max(...row.map(panelHeight)) + GAP;
    k += row.length;
  }
  parts.push(...lines(foot));
  const height = y + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    STYLE,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="8"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}
