// A small line with a name, for many side by side.

const SPARKLINE = { width: 200, height: 52 };

// Returns a scale for several sparklines, from all their values.
function sparklineScale(values) {
  return makeScale(values.map((value) => (value === null ? NaN : Math.abs(value))), SPARKLINE.height - 4, 6, { isLog: true });
}

// Data: {x: ascending steps, y, marks: indices of those with findings}.  Options: title; scale, from sparklineScale(), else the
// line has its own.
function drawSparkline(element, data, { title, scale = null }) {
  const { width, height } = SPARKLINE;
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
  const range = make('div', { class: 'range' });
  const figure = make('figure', { class: 'sparkline' }, make('figcaption', { title }, shortened(title, 26)), svg, range);
  element.append(figure);

  function update({ x: steps, y: values, marks = [] }) {
    const sizes = Array.from(values, (value) => (value === null ? NaN : Math.abs(value)));
    const x = makeScale(steps.length ? [steps[0], steps[steps.length - 1]] : [], 2, width - 2, { isWhole: true });
    const y = scale || sparklineScale(values);
    const ends = columnEnds(steps);
    svg.replaceChildren();
    for (const [first, last] of stretchesOf(marks)) {
      const [left, right] = [x(ends[first][0]), x(ends[last][1])];
      svg.append(makeSvg('rect', { class: 'band', x: left, width: Math.max(right - left, 2), y: 0, height }));
    }
    const line = { x: steps, y: sizes };
    const { path, dots } = linePaths(line, sizes, pointsToDraw(line, x, sizes), x, y);
    svg.append(makeSvg('path', { class: 's0', d: path }));
    if (dots) svg.append(makeSvg('path', { class: 's0 dots', d: dots }));
    values.forEach((value, i) => {
      const at = x(steps[i]);
      if (value !== null && !Number.isFinite(value)) svg.append(makeSvg('line', { class: 'odd', x1: at, x2: at, y1: 1, y2: 8 }));
      if (value === 0) svg.append(makeSvg('line', { class: 'axis', x1: at, x2: at, y1: height - 6, y2: height }));
    });
    const saved = values.filter((value) => value !== null);
    const [from, to] = [saved[0], saved[saved.length - 1]].map(formatNumber);
    svg.setAttribute('aria-label', `${title}: from ${from} to ${to}`);
    figure.classList.toggle('found', marks.length > 0);
    range.replaceChildren(make('span', {}, from), make('span', {}, `→ ${to}`));
  }
  update(data);
  return { figure, update, destroy: () => figure.remove() };
}

// Returns a line of a few numbers without a name, for a row of a table; crosses are NaN and infinite values.
function tinySparkline(values) {
  const [width, height] = [110, 22];
  const line = { x: values.map((_, i) => i), y: values };
  const x = makeScale([0, Math.max(values.length - 1, 1)], 2, width - 2);
  const y = makeScale(values, height - 3, 3, { isLog: wantsLog(values) });
  const svg = makeSvg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  const { path, dots } = linePaths(line, values, line.x, x, y);
  svg.append(makeSvg('path', { class: 'curve s0', d: path }));
  if (dots) svg.append(makeSvg('path', { class: 'curve dots s0', d: dots }));
  drawOdd(svg, line, line.x, x, 0);
  return svg;
}
