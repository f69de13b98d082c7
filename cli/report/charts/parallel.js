// Parallel coordinates: a line a run across one axis for each number.

// Axes: [{title, values: a number or null a line}]; lines: [{label, colour}].
function drawParallel(element, axes, lines) {
  const [width, height, top, bottom] = [Math.max(axes.length * 150, 420), 260, 34, 236];
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Parallel coordinates of ${axes.map((axis) => axis.title).join(', ')}` });
  const at = (i) => 70 + (i * (width - 140)) / (axes.length - 1);
  const scales = axes.map(({ title, values }, i) => {
    const seen = values.filter((value) => value !== null && Number.isFinite(value));
    const isLog = seen.every((value) => value > 0) && Math.max(...seen) > 20 * Math.min(...seen);
    const scale = makeScale(seen, bottom, top, { isLog });
    svg.append(makeSvg('line', { class: 'axis', x1: at(i), x2: at(i), y1: top, y2: bottom }),
      makeSvg('text', { x: at(i), y: 16, 'text-anchor': 'middle' }, shortened(title, 22)));
    for (const tick of scale.ticks(5)) svg.append(makeSvg('text', { x: at(i) + 5, y: scale(tick) + 4 }, formatNumber(tick)));
    return scale;
  });
  lines.forEach(({ label, colour }, number) => {
    let path = '';
    axes.forEach(({ values }, i) => {
      const value = values[number];
      if (value !== null && scales[i].has(value)) path += `${path ? 'L' : 'M'}${at(i)} ${scales[i](value).toFixed(1)}`;
    });
    svg.append(makeSvg('path', { class: `curve s${colour % COLOURS}`, d: path }, makeSvg('title', {}, label)));
  });
  const figure = make('figure', { class: 'parallel' }, svg);
  element.append(make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Parallel coordinates' }, figure),
    make('div', { class: 'legend' }, ...lines.map((line) => make('span', {}, lineSample({ ...line, dash: null }), line.label))));
  return { figure };
}
