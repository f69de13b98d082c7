// Lines over the steps, or over another number.

const DASHES = { TRAIN: null, EVAL: '6 3', PREDICT: '1.5 3', GLOBAL: null };
const FEW_POINTS = 10;  // pixels from one point to the next that are enough to draw each
const COLOURS = 8;

function lineSample(line) {
  return makeSvg('svg', { viewBox: '0 0 26 10', 'aria-hidden': 'true' },
    makeSvg('line', { x1: 1, x2: 25, y1: 5, y2: 5, class: `curve s${line.colour % COLOURS}`, 'stroke-dasharray': line.dash }));
}

// Returns the words that tell a line from the others of its chart; lines are {run, tensor, mode, worker}, where `run` is ''
// unless a chart has several.
function labelOfLine(line, lines) {
  const several = (name) => lines.some((each) => each[name] !== line[name]);
  const parts = [];
  if (line.run) parts.push(line.run);
  if (several('tensor')) parts.push(line.tensor);
  if (several('mode') || (line.mode !== 'GLOBAL' && !line.run)) parts.push(line.mode);
  if (several('worker')) parts.push(line.worker);
  return parts.join(' ') || line.tensor;
}

// Returns the indices of a line's points that are needed to draw it between two numbers: all of few points; else, for each
// pixel, the first and the last, the least and the greatest, and one without a place.  Also those next to the range.
function pointsToDraw(line, scale, y) {
  const begin = Math.max(lowerBound(line.x, scale.least) - 1, 0);
  let end = lowerBound(line.x, scale.most);
  end = Math.min(end + 2, line.x.length);
  const pixels = Math.abs(scale(scale.most) - scale(scale.least));
  const points = [];
  if (end - begin <= 4 * pixels) {
    for (let i = begin; i < end; ++i) points.push(i);
    return points;
  }
  const perPixel = pixels / (scale.most - scale.least);
  for (let i = begin; i < end;) {
    const pixel = Math.floor((line.x[i] - scale.least) * perPixel);
    const first = i;
    let [least, most, odd] = [-1, -1, -1];
    for (; i < end && Math.floor((line.x[i] - scale.least) * perPixel) === pixel; ++i) {
      const value = y[i];
      if (value === null || !Number.isFinite(value)) odd = i;
      else {
        if (least < 0 || value < y[least]) least = i;
        if (most < 0 || value > y[most]) most = i;
      }
    }
    const kept = [first, least, most, odd, i - 1].filter((each) => each >= 0).sort((a, b) => a - b);
    kept.forEach((each, k) => (k === 0 || each !== kept[k - 1]) && points.push(each));
  }
  return points;
}

// Much faster than toFixed(1).
const tenths = (number) => Math.round(number * 10) / 10;

// Returns the path of a line, and that of the points which no line joins to others.
function linePaths(line, y, points, x, scale) {
  let path = '';
  let dots = '';
  let run = [];
  const finish = () => {
    if (run.length === 1) dots += `M${run[0]}h0`;
    else if (run.length) path += `M${run.join('L')}`;
    run = [];
  };
  for (const i of points) {
    if (scale.has(y[i])) run.push(`${tenths(x(line.x[i]))} ${tenths(scale(y[i]))}`);
    else finish();
  }
  finish();
  return { path, dots };
}

// Draws ticks and titles; `titles` and `counts` of ticks are {x, y}.
function drawAxes(svg, x, y, { left, right, top, bottom }, counts, titles = {}) {
  for (const tick of y.ticks(counts.y)) {
    svg.append(makeSvg('line', { class: 'gridline', x1: left, x2: right, y1: y(tick), y2: y(tick) }),
      makeSvg('text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, formatNumber(tick)));
  }
  for (const tick of x.ticks(counts.x)) {
    svg.append(makeSvg('line', { class: 'axis', x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }),
      makeSvg('text', { class: 'x-tick', x: x(tick), y: bottom + 16, 'text-anchor': 'middle' }, formatWhole(tick)));
  }
  svg.append(makeSvg('line', { class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom }));
  if (titles.x) svg.append(makeSvg('text', { class: 'axis-title', x: (left + right) / 2, y: bottom + 30, 'text-anchor': 'middle' }, titles.x));
  if (titles.y) svg.append(makeSvg('text', { class: 'axis-title', x: 0, y: 12 }, titles.y));
}

// Draws numbers with findings as dotted lines, with the numbers of the rules on top.
function drawMarks(svg, x, marks, top, bottom) {
  const byPlace = new Map();
  for (const { x: place, label } of marks) byPlace.set(place, [...(byPlace.get(place) || []), label].filter(Boolean));
  const colours = new Map(marks.map(({ x: place, colour }) => [place, colour]));
  let last = null;
  for (const place of [...byPlace.keys()].sort((a, b) => a - b)) {
    if (!(x(place) >= x(x.least) - 1 && x(place) <= x(x.most) + 1)) continue;
    const colour = colours.get(place);
    svg.append(makeSvg('line', { class: colour === undefined ? 'mark' : `mark s${colour % COLOURS}`, x1: x(place), x2: x(place), y1: top, y2: bottom }));
    const label = byPlace.get(place).join(' ');
    if (last && x(place) < last.right) {
      last.text.textContent += ` ${label}`;
    } else {
      last = { text: makeSvg('text', { class: 'mark-label', x: x(place), y: top - 3, 'text-anchor': 'middle' }, label) };
      svg.append(last.text);
    }
    last.right = x(place) + last.text.textContent.length * 4 + 8;
  }
}

// Draws non-finite values as crosses at the top.
function drawOdd(svg, line, points, x, top) {
  let right = -Infinity;
  let path = '';
  for (const i of points) {
    const at = x(line.x[i]);
    if (line.y[i] === null || Number.isFinite(line.y[i]) || at < right + 7) continue;
    right = at;
    path += `M${at - 3} ${top + 2}l6 6m0 -6l-6 6`;
  }
  if (path) svg.append(makeSvg('path', { class: 'odd', d: path }));
}

function describeLines(title, lines) {
  const parts = lines.slice(0, 4).map((line) => {
    const ends = [line.y[0], line.y[line.y.length - 1]].map(formatNumber);
    return `${line.label}: from ${ends[0]} to ${ends[1]}`;
  });
  return `Chart of ${title}${parts.length ? ', ' : ''}${parts.join('; ')}`;
}

// Returns the moving average of values, each with weight `weight` ** distance.  Values that are not finite are kept.
function smoothed(values, weight) {
  const result = [];
  let sum = 0;
  let all = 0;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) {
      result.push(value);
      continue;
    }
    sum = sum * weight + value;
    all = all * weight + 1;
    result.push(sum / all);
  }
  return result;
}

// Data: {lines: [{label, colour, dash, x, y}], marks: [{x, label, colour}], limit, hidden}: `x` ascends, and may be a typed array
// as `y`; `colour` of a mark is that of its run, if there are several; `limit` is a number to compare with, or null; `hidden` is
// the number of lines that are not in the data.
// Options: title; hasHeading; height; xTitle and yTitle of the axes; canSwitch: the user can select a logarithmic scale;
// ends, numbers that the x axis includes, and leastLeft, pixels left of the plot, which align charts below each other;
// group and sharesZoom, as in joinGroup(); titleOf(x), the heading of a tip; onZoom(range), called with [from, to] or null
// when the user selects a range, so that the caller can get finer data and update().
// Returns also zoom(range), smooth(weight) and destroy().
function drawLineChart(element, data, {
  title, hasHeading = true, height = 244, xTitle = 'step', yTitle = '', canSwitch = true, ends = [], leastLeft = 0, group = '', sharesZoom = true,
  titleOf = (x) => `step ${formatWhole(x)}`, onZoom = () => {},
}) {
  let lines = [];
  let marks = [];
  let limit = null;
  let isLog = false;
  let isLogChosen = false;
  let hasWholeSteps = true;
  let hasWholeValues = false;
  let range = null;
  let weight = 0;
  let x = null;
  let y = null;
  let frame = { left: 0, right: 0, top: 0, bottom: 0 };
  let cursor = null;
  let pointed = null;  // where the cursor is
  let svg = makeSvg('svg');
  const hiddenLabels = new Set();
  const surface = make('div', { class: 'surface' }, svg);
  const legend = make('div', { class: 'legend' });
  const figure = make('figure', {}, hasHeading ? make('figcaption', {}, title) : null, surface, legend);
  element.append(figure);

  const shownLines = () => lines.filter((line) => !hiddenLabels.has(line.label));
  // Returns the range that is shown: the selected one, or that of all lines.
  function rangeOf() {
    if (range) return range;
    const { least, most } = extentOf(lines.flatMap((line) => (line.x.length ? [line.x[0], line.x[line.x.length - 1]] : [])).concat(ends));
    return least > most ? [] : [least, most];
  }
  function yOf(line) {
    if (weight === 0) return line.y;
    if (line.weight !== weight) Object.assign(line, { weight, smooth: smoothed(line.y, weight) });
    return line.smooth;
  }

  // Sizes are not read while drawing: the browser would lay out the page for each.
  let drawnWidth = 0;
  function draw(width) {
    drawnWidth = width;
    const shown = shownLines();
    const top = (yTitle ? 20 : 8) + (marks.length ? 12 : 0);
    frame = { top, right: width - 14, bottom: height - 38, left: 0 };
    // The left end depends on the texts of ticks, which depend on the values in the range.
    x = makeScale(rangeOf(), 40, frame.right, { isWhole: hasWholeSteps });
    const chosen = shown.map((line) => pointsToDraw(line, x, line.y));
    const isInside = (at) => at >= x.least && at <= x.most;
    const values = shown.flatMap((line, k) => chosen[k].filter((i) => isInside(line.x[i])).map((i) => line.y[i]));
    if (limit !== null) values.push(limit);
    y = makeScale(values, frame.bottom, frame.top + 10, { isLog, isWhole: hasWholeValues });
    frame.left = Math.max(...y.ticks(5).map((tick) => formatNumber(tick).length), 2) * 6.6 + 8;
    frame.left = Math.max(frame.left, leastLeft);
    x = makeScale(rangeOf(), frame.left, frame.right, { isWhole: hasWholeSteps });
    const next = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    drawAxes(next, x, y, frame, { x: Math.max(2, Math.floor(width / 70)), y: 5 }, { x: xTitle, y: yTitle });
    drawMarks(next, x, marks, frame.top, frame.bottom);
    if (limit !== null && y.has(limit)) {
      next.append(makeSvg('line', { class: 'limit', x1: frame.left, x2: frame.right, y1: y(limit), y2: y(limit) }),
        makeSvg('text', { class: 'mark-label', x: frame.right, y: y(limit) - 4, 'text-anchor': 'end' }, `limit ${formatNumber(limit)}`));
    }
    // What lies outside a selected range is cut off.
    const plot = range ? makeSvg('svg', {
      x: frame.left, y: 0, width: frame.right - frame.left, height, viewBox: `${frame.left} 0 ${frame.right - frame.left} ${height}`, class: 'clip',
    }) : makeSvg('g');
    next.append(plot);
    shown.forEach((line, k) => drawLine(plot, line, chosen[k]));
    cursor = makeSvg('line', { class: 'cursor', y1: frame.top, y2: frame.bottom, visibility: 'hidden' });
    next.append(cursor);
    svg.replaceWith(next);
    svg = next;
    point(pointed);
  }
  function drawLine(plot, line, points) {
    const colour = `s${line.colour % COLOURS}`;
    if (weight > 0) plot.append(makeSvg('path', { class: `curve raw ${colour}`, d: linePaths(line, line.y, points, x, y).path }));
    const { path, dots } = linePaths(line, yOf(line), weight > 0 ? pointsToDraw(line, x, yOf(line)) : points, x, y);
    plot.append(makeSvg('path', { class: `curve ${colour}`, 'stroke-dasharray': line.dash, d: path }));
    if (dots) plot.append(makeSvg('path', { class: `curve dots ${colour}`, d: dots }));
    // Few points are drawn, so that a reader can tell what was saved from what is only joined.
    if (weight === 0 && points.length * FEW_POINTS <= frame.right - frame.left) {
      const places = points.filter((i) => y.has(line.y[i])).map((i) => `M${x(line.x[i]).toFixed(1)} ${y(line.y[i]).toFixed(1)}h0`);
      plot.append(makeSvg('path', { class: `curve points ${colour}`, d: places.join('') }));
    }
    drawOdd(plot, line, points, x, frame.top);
  }
  const redraw = () => drawnWidth && draw(drawnWidth);

  function point(at) {
    pointed = at;
    if (!cursor || !x || at === null || at < x.least || at > x.most) {
      if (cursor) cursor.setAttribute('visibility', 'hidden');
      return;
    }
    cursor.setAttribute('x1', x(at));
    cursor.setAttribute('x2', x(at));
    cursor.setAttribute('visibility', 'visible');
  }
  function zoom(next) {
    range = next && next[1] > next[0] ? next : null;
    zoomer.show(range);
    drawing.soon();
  }
  const shared = joinGroup(group, { follow: point, ...(sharesZoom ? { zoom } : {}) });
  const zoomer = zoomByDrag(surface, {
    numberAt: (px) => x.at(px),
    frame: () => frame,
    onRange(next) {
      const [first, last] = (range = null, rangeOf());
      const cut = next && [Math.max(next[0], first), Math.min(next[1], last)];
      zoom(cut && (cut[0] > first || cut[1] < last) ? cut : null);
      if (sharesZoom) shared.zoom(range);
      onZoom(range);
    },
  });

  // Returns the place next to a number, among those of all shown lines.
  function nextPlace(place, by) {
    let best = null;
    for (const line of shownLines()) {
      const i = by > 0 ? lowerBound(line.x, place) : lowerBound(line.x, place) - 1;
      const at = line.x[by > 0 && line.x[i] === place ? i + 1 : i];
      if (at === undefined || at < x.least || at > x.most) continue;
      if (best === null || (by > 0 ? at < best : at > best)) best = at;
    }
    return best === null ? place : best;
  }
  function nearestPlace(at) {
    let best = null;
    for (const line of shownLines()) {
      const found = line.x[nearestIndex(line.x, at)];
      if (found !== undefined && (best === null || Math.abs(found - at) < Math.abs(best - at))) best = found;
    }
    return best;
  }
  // Returns the value of a line at a place, or the last value before it.
  function valueAt(line, place) {
    const i = lowerBound(line.x, place);
    const found = line.x[i] === place ? i : i - 1;
    return found < 0 ? null : { x: line.x[found], value: line.y[found] };
  }
  explore(surface, describeLines(title, []), {
    help: ' Plus and minus zoom, 0 shows all.',
    at: (px) => x && nearestPlace(x.at(px)),
    move(place, key) {
      if (!x) return null;
      if (place !== null && zoomer.keys(key, place, rangeOf())) return place;
      if (key === 'Home' || (place === null && key === 'ArrowRight')) return nearestPlace(x.least);
      if (key === 'End') return nearestPlace(x.most);
      const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[key];
      if (by === undefined) return null;
      let next = place === null ? x.least : place;
      for (let i = 0; i < Math.abs(by); ++i) next = nextPlace(next, by);
      return next;
    },
    show(place) {
      point(place);
      shared.point(place);
      const told = shownLines().map((line) => ({ line, at: valueAt(line, place) }));
      return {
        x: x(place), y: 4, title: titleOf(place),
        lines: told.filter(({ at }) => at !== null).map(({ line, at }) => ({
          label: line.label, sample: lineSample(line), value: formatNumber(at.value) + (at.x === place ? '' : ` (at ${formatWhole(at.x)})`),
        })),
      };
    },
    hide() {
      point(null);
      shared.point(null);
    },
  });

  const logSwitch = checkbox('log scale', false, (isOn) => {
    isLog = isOn;
    isLogChosen = true;
    redraw();
  });
  function buttonOf(line) {
    const button = make('button', { type: 'button', 'aria-pressed': String(!hiddenLabels.has(line.label)) }, lineSample(line), line.label);
    button.addEventListener('click', () => {
      hiddenLabels.has(line.label) ? hiddenLabels.delete(line.label) : hiddenLabels.add(line.label);
      button.setAttribute('aria-pressed', String(!hiddenLabels.has(line.label)));
      redraw();
    });
    return button;
  }
  let legendText = null;
  function writeLegend(hidden, hasRange) {
    const labels = lines.map((line) => `${line.label} ${line.colour} ${line.dash}`).join('\n') + hidden + hasRange;
    // Keeps the focus of the keyboard where nothing changes.
    if (labels === legendText) return;
    legendText = labels;
    legend.replaceChildren(
      ...(lines.length > 1 || hidden || lines.some((line) => line.dash) ? lines.map(buttonOf) : []),
      ...(hidden ? [make('span', { class: 'unshown' }, `and ${countText(hidden, 'line')} not shown`)] : []),
      ...(canSwitch && hasRange ? [logSwitch] : []));
    legend.hidden = legend.children.length === 0;
  }

  function take(next) {
    ({ lines, marks = [], limit = null } = next);
    lines = lines.map((line) => ({ ...line }));
    const all = lines.flatMap((line) => Array.from(line.y));
    if (limit !== null) all.push(limit);
    if (!isLogChosen) isLog = wantsLog(all);
    logSwitch.firstChild.checked = isLog;
    hasWholeSteps = lines.every((line) => areWhole(line.x)) && areWhole(ends);
    hasWholeValues = areWhole(all);
    surface.setAttribute('aria-label', describeLines(title, lines));
    const { least, most } = extentOf(all, true);
    writeLegend(next.hidden || 0, least < most);
  }
  take(data);
  const drawing = drawInWidth(surface, draw, redraw);
  return {
    figure,
    update(next) {
      take(next);
      drawing.soon();
    },
    zoom,
    smooth(next) {
      weight = next;
      redraw();
    },
    destroy() {
      drawing.stop();
      shared.leave();
      figure.remove();
    },
  };
}
