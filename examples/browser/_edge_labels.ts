/**
 * Which edges of a logarithmic histogram have labels.
 *
 * @module
 */

/** How far apart labels below an axis must be, in pixels. */
const LABEL_WIDTH = 52;

/** The labels of a histogram's edges: powers of ten, as many as there is room for. Where there are none or one, the ends have labels, too. */
export function edgeLabels(edges: readonly number[], width: number): string[] {
  const labels = edges.map(() => "");
  const powers = edges.flatMap((edge, k) => {
    const power = Math.round(Math.log10(edge));
    return Math.abs(Math.log10(edge) - power) < 1e-6 ? [{ k, power }] : [];
  });
  const bins = edges.length - 1;
  const apart = (one: number, other: number): number => Math.abs(one - other) * width / bins;
  const [first, second] = powers;
  const every = first === undefined || second === undefined
    ? 1
    : Math.ceil(LABEL_WIDTH / apart(first.k, second.k));
  for (const { k, power } of powers) {
    if (power % every === 0) labels[k] = String(Number((edges[k] ?? 0).toPrecision(1)));
  }
  if (powers.length > 1) return labels;
  for (const end of [0, bins]) {
    const hasRoom = powers.every(({ k }) => apart(k, end) >= LABEL_WIDTH);
    if (hasRoom) labels[end] = String(Number((edges[end] ?? 0).toPrecision(2)));
  }
  return labels;
}
