/** Charts as SVG, for pages: bars in groups, and lines over time. Pure. */

const WIDTH = 760;
const COLORS = ["#1f77b4", "#7fb3d9", "#d62728", "#f08a80", "#8c8c8c", "#2ca02c"];

/** One horizontal bar for each value, its number at its end; groups stand below each other. `unit` says what the numbers are. */
export function barChart(
  title: string,
  unit: string,
  groups: readonly { name: string; bars: readonly { name: string; value: number; text: string }[] }[],
): string {
  const [left, right, row] = [210, 90, 22];
  const most = Math.max(0, ...groups.flatMap(({ bars }) => bars.map(({ value }) => value))) || 1;
  const lines: string[] = [];
  let y = 58;
  for (const { name, bars } of groups) {
    lines.push(text(12, y + 14, name, "bold"));
    y += row;
    for (const [n, bar] of bars.entries()) {
      const width = Math.max(1, ((WIDTH - left - right) * bar.value) / most);
      const color = COLORS[n % COLORS.length];
      lines.push(text(24, y + 14, bar.name));
      lines.push(
        `<rect x="${left}" y="${y + 2}" width="${width.toFixed(1)}" height="${row - 6}" fill="${color}"/>`,
      );
      lines.push(text(left + width + 6, y + 14, bar.text));
      y += row;
    }
    y += 8;
  }
  return svg(y + 8, title, unit, lines);
}

/** Lines from the same start, each with its name at the side; `limit` is a dashed line across. */
export function lineChart(
  title: string,
  unit: string,
  lines: readonly { name: string; points: readonly (readonly [x: number, y: number])[] }[],
  limit: { value: number; name: string },
  xUnit: string,
): string {
  const [left, top, width, height] = [60, 66, WIDTH - 90, 260];
  const all = lines.flatMap(({ points }) => points);
  const mostX = Math.max(0, ...all.map(([x]) => x)) || 1;
  const mostY = Math.max(limit.value, ...all.map(([, y]) => y)) * 1.05;
  const at = ([x, y]: readonly [number, number]) =>
    `${(left + (x / mostX) * width).toFixed(1)},${(top + height - (y / mostY) * height).toFixed(1)}`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = top + height - share * height;
    return `<line x1="${left}" x2="${left + width}" y1="${y}" y2="${y}" stroke="#e0e0e0"/>${text(12, y + 4, Math.round(share * mostY).toLocaleString("en"))}`;
  });
  const limitY = at([0, limit.value]).split(",")[1];
  const drawn = lines.map(({ points }, n) => {
    const color = COLORS[(n * 2) % COLORS.length];
    return `<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${points.map(at).join(" ")}"/>`;
  });
  const names = lines.map(({ name }, n) => {
    const y = top + height + 40 + n * 20;
    const color = COLORS[(n * 2) % COLORS.length];
    return `<rect x="${left}" y="${y - 10}" width="12" height="12" fill="${color}"/>${text(left + 18, y, name)}`;
  });
  return svg(top + height + 40 + lines.length * 20, title, unit, [
    ...ticks,
    `<line x1="${left}" x2="${left + width}" y1="${limitY}" y2="${limitY}" stroke="#d62728" stroke-dasharray="6 4"/>`,
    text(left + 6, Number(limitY) - 5, limit.name),
    ...drawn,
    text(left, top + height + 18, `0 to ${Math.round(mostX).toLocaleString("en")} ${xUnit}`),
    ...names,
  ]);
}

function svg(height: number, title: string, unit: string, inside: readonly string[]): string {
  const name = escaped(`${title}: ${unit}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${Math.ceil(height)}" viewBox="0 0 ${WIDTH} ${Math.ceil(height)}" role="img" aria-label="${name}" font-family="sans-serif" font-size="13" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
${text(12, 24, title, "bold")}
${text(12, 43, unit)}
${inside.join("\n")}
</svg>
`;
}

function text(x: number, y: number, words: string, weight?: "bold"): string {
  const style = weight === undefined ? "" : ` font-weight="${weight}"`;
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${style}>${escaped(words)}</text>`;
}

const escaped = (words: string) =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
