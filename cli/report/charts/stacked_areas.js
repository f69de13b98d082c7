// Numbers that add up to a whole, over the steps or over another number.

const FILLS = 9;

function areaSample(colour) {
  return makeSvg('svg', { viewBox: '0 0 26 10', 'aria-hidden': 'true' }, makeSvg('rect', { width: 26, height: 10, rx: 2, class: `f${colour % FILLS}` }));
}

// Returns the outline of the area between two rows of heights, as a path.
function areaPath(xs, lower, upper, x, y) {
  const point = (heights) => (place, i) => `${x(place).toFixed(1)} ${y(heights[i]).toFixed(1)}`;
  return `M${[...xs.map(point(upper)), ...xs.map(point(lower)).reverse()].join('L')}Z`;
}

// Data: {x, areas: [{label, colour, y}]}: `x` ascends, and all `y` are 0 or more; the first area is at the bottom.
// Options: title; height; xTitle and yTitle of the axes; unit of values; titleOf(x), the heading of a tip; group, as in
// joinGroup(), whose cursor is followed.
function drawStackedAreas(element, data, {
  title, height = 244, xTitle = 'step', yTitle = '', unit = '', titleOf = (x) => `step ${formatWhole(x)}`, group = '',
}) {
  let { x: xs, areas } = data;
  let sums = [];
  let scale = null;
  let frame = null;
  let cursor = null;
  let svg = makeSvg('svg');
  const surface = make('div', { class: 'surface' }, svg);
  const legend = make('div', { class: 'legend' });
  const figure = make('figure', {}, make('figcaption', {}, title), surface, legend);
  element.append(figure);

  function take(next) {
    ({ x: xs, areas } = next);
    sums = [xs.map(() => 0)];
    for (const area of areas) sums.push(area.y.map((value, i) => sums[sums.length - 1][i] + value));
    legend.replaceChildren(...areas.map((area) => make('span', {}, areaSample(area.colour), area.label)));
  }
  function draw(width) {
    frame = { top: yTitle ? 20 : 8, right: width - 14, bottom: height - 38, left: 0 };
    const y = makeScale([0, ...sums[sums.length - 1]], frame.bottom, frame.top + 10);
    frame.left = Math.max(...y.ticks(5).map((tick) => formatNumber(tick).length), 2) * 6.6 + 8;
    scale = makeScale(xs, frame.left, frame.right, { isWhole: areWhole(xs) });
    const next = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    drawAxes(next, scale, y, frame, { x: Math.max(2, Math.floor(width / 70)), y: 5 }, { x: xTitle, y: yTitle });
    // A single point has no width.
    const [places, rows] = xs.length === 1 ? [[scale.least, scale.most], sums.map(([sum]) => [sum, sum])] : [xs, sums];
    areas.forEach((area, k) => next.append(makeSvg('path', { class: `area f${area.colour % FILLS}`, d: areaPath(places, rows[k], rows[k + 1], scale, y) })));
    cursor = makeSvg('line', { class: 'cursor', y1: frame.top, y2: frame.bottom, visibility: 'hidden' });
    next.append(cursor);
    svg.replaceWith(next);
    svg = next;
  }
  function point(at) {
    if (!cursor) return;
    const isInside = at !== null && at >= scale.least && at <= scale.most;
    cursor.setAttribute('visibility', isInside ? 'visible' : 'hidden');
    if (isInside) for (const name of ['x1', 'x2']) cursor.setAttribute(name, scale(at));
  }
  const shared = joinGroup(group, { follow: point });
  take(data);
  explore(surface, `Chart of ${title}: ${areas.map((area) => area.label).join(', ')}`, {
    at: (px) => (scale ? nearestIndex(xs, scale.at(px)) : null),
    move: (place, key) => moveInRow(place, key, xs.length),
    show(i) {
      point(xs[i]);
      shared.point(xs[i]);
      const text = (value) => `${formatNumber(value)}${unit && ` ${unit}`}`;
      return {
        x: scale(xs[i]), y: 4, title: `${titleOf(xs[i])}: ${text(sums[sums.length - 1][i])}`,
        lines: areas.filter((area) => area.y[i] > 0).reverse().map((area) => ({ label: area.label, sample: areaSample(area.colour), value: text(area.y[i]) })),
      };
    },
    hide() {
      point(null);
      shared.point(null);
    },
  });
  const redraw = () => surface.clientWidth && draw(surface.clientWidth);
  const drawing = drawInWidth(surface, draw, redraw);
  return {
    figure,
    update(next) {
      take(next);
      drawing.soon();
    },
    destroy() {
      drawing.stop();
      shared.leave();
      figure.remove();
    },
  };
}
