// Parallel coordinates: a line a run across one axis for each number, or for each of a few texts.

const MOST_TEXTS = 8;

// Returns the axis with a scale: texts stand in their order at equal distances.
function parallelScale({ values }, bottom, top) {
  const seen = values.filter((value) => value !== null);
  if (seen.every((value) => typeof value === 'number')) {
    const numbers = seen.filter(Number.isFinite);
    const isLog = numbers.every((value) => value > 0) && Math.max(...numbers) > 20 * Math.min(...numbers);
    const scale = makeScale(numbers, bottom, top, { isLog });
    return { at: (value) => (scale.has(value) ? scale(value) : null), ticks: scale.ticks(5).map((tick) => [scale(tick), formatNumber(tick)]) };
  }
  const names = [...new Set(seen.map(String))].sort();
  const placeOf = (name) => bottom - ((names.indexOf(name) + 0.5) * (bottom - top)) / names.length;
  return { at: (value) => (value === null ? null : placeOf(String(value))), ticks: names.map((name) => [placeOf(name), shortened(name, 14)]) };
}

// Axes: [{title, values: a number, a text or null a line}]; lines: [{label, colour}].  A line needs values on two axes.
function drawParallel(element, axes, lines) {
  const drawn = lines.map((line, number) => number).filter((number) => axes.filter(({ values }) => values[number] !== null && !Number.isNaN(values[number])).length > 1);
  const [width, height, top, bottom] = [Math.max(axes.length * 150, 420), 260, 34, 236];
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Parallel coordinates of ${axes.map((axis) => axis.title).join(', ')}` });
  svg.style.maxWidth = `${width}px`;  // the texts are as large as elsewhere
  const at = (i) => 70 + (i * (width - 140)) / (axes.length - 1);
  const scales = axes.map(({ values }) => parallelScale({ values: drawn.map((number) => values[number]) }, bottom, top));
  for (const number of drawn) {
    let path = '';
    axes.forEach(({ values }, i) => {
      const place = scales[i].at(values[number]);
      if (place !== null) path += `${path ? 'L' : 'M'}${at(i)} ${place.toFixed(1)}`;
    });
    svg.append(makeSvg('path', { class: `curve s${lines[number].colour % COLOURS}`, d: path }, makeSvg('title', {}, lines[number].label)));
  }
  axes.forEach(({ title }, i) => {  // over the lines
    svg.append(makeSvg('line', { class: 'axis', x1: at(i), x2: at(i), y1: top, y2: bottom }),
      makeSvg('text', { x: at(i), y: 16, 'text-anchor': 'middle' }, shortened(title, 22)));
    for (const [place, text] of scales[i].ticks) svg.append(makeSvg('text', { class: 'over', x: at(i) + 5, y: place + 4 }, text));
  });
  const figure = make('figure', { class: 'parallel' }, svg);
  const left = lines.length - drawn.length;
  element.append(make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Parallel coordinates' }, figure),
    make('div', { class: 'legend' }, ...drawn.map((number) => make('span', {}, lineSample({ ...lines[number], dash: null }), lines[number].label)),
      left ? make('span', { class: 'unshown' }, `${countText(left, 'run')} without these`) : null));
  return { figure };
}
