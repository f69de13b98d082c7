// Draws numbers over the steps as lines.

const DASHES = { TRAIN: null, EVAL: '6 3', PREDICT: '1.5 3', GLOBAL: null };

function lineSample(line) {
  return makeSvg('svg', { viewBox: '0 0 26 10', 'aria-hidden': 'true' },
    makeSvg('line', { x1: 1, x2: 25, y1: 5, y2: 5, class: `curve s${line.colour % 8}`, 'stroke-dasharray': line.dash }));
}

// Returns the drawable pieces of a line, which are separated by values without a place.
function linePath(line, x, y) {
  let path = '';
  let isDown = false;
  line.steps.forEach((step, i) => {
    const value = line.values[i];
    if (!y.has(value)) {
      isDown = false;
      return;
    }
    path += `${isDown ? 'L' : 'M'}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
  });
  // A point between two gaps is drawn as a dot.
  return path.replace(/M([\d.-]+) ([\d.-]+)(?=M|$)/g, 'M$1 $2h0.1');
}

function drawAxes(svg, x, y, { left, right, top, bottom }, counts) {
  for (const tick of y.ticks(counts.y)) {
    svg.append(makeSvg('line', { class: 'gridline', x1: left, x2: right, y1: y(tick), y2: y(tick) }),
      makeSvg('text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, formatNumber(tick)));
  }
  for (const tick of x.ticks(counts.x)) {
    svg.append(makeSvg('text', { x: x(tick), y: bottom + 16, 'text-anchor': 'middle' }, formatNumber(tick)));
  }
  svg.append(makeSvg('line', { class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom }));
}

// Draws steps with findings as dotted lines, with the numbers of the rules on top.
function drawMarks(svg, x, marks, top, bottom) {
  const byStep = new Map();
  for (const { step, label } of marks) byStep.set(step, [...(byStep.get(step) || []), label].filter(Boolean));
  let last = null;
  for (const step of [...byStep.keys()].sort((a, b) => a - b)) {
    if (!(x(step) >= x(x.least) - 1 && x(step) <= x(x.most) + 1)) continue;
    svg.append(makeSvg('line', { class: 'mark', x1: x(step), x2: x(step), y1: top, y2: bottom }));
    const label = byStep.get(step).join(' ');
    if (last && x(step) < last.right) {
      last.text.textContent += ` ${label}`;
    } else {
      last = { text: makeSvg('text', { class: 'mark-label', x: x(step), y: top - 3, 'text-anchor': 'middle' }, label) };
      svg.append(last.text);
    }
    last.right = x(step) + last.text.textContent.length * 4 + 8;
  }
}

// Draws non-finite values as crosses at the top.
function drawOdd(svg, line, x, top) {
  let right = -Infinity;
  line.steps.forEach((step, i) => {
    const value = line.values[i];
    const at = x(step);
    if (value === null || Number.isFinite(value) || at < right + 7) return;
    right = at;
    svg.append(makeSvg('path', { class: 'odd', d: `M${at - 3} ${top + 2}l6 6m0 -6l-6 6` }));
  });
}

function describeLines(title, lines) {
  const parts = lines.slice(0, 4).map((line) => {
    const ends = [line.values[0], line.values[line.values.length - 1]].map(formatNumber);
    return `${line.label}: from ${ends[0]} to ${ends[1]}`;
  });
  return `Chart of ${title}, ${parts.join('; ')}`;
}

// Creates a figure.  `lines` are {label, colour, dash, steps, values}; `marks` are {step, label};
// `limit` is a number to compare with.
function lineChart({ title, lines, marks = [], limit = null, height = 230, canSwitch = true, heading = true }) {
  const all = lines.flatMap((line) => line.values);
  let isLog = wantsLog(limit === null ? all : [...all, limit]);
  const hiddenLines = new Set();
  const surface = make('div', { class: 'surface' });
  const figure = make('figure', {}, heading ? make('figcaption', {}, title) : null, surface);
  const steps = [...new Set(lines.flatMap((line) => line.steps))].sort((a, b) => a - b);
  let svg = makeSvg('svg');
  let cursor = null;
  let x = null;
  let y = null;
  surface.append(svg);

  function draw(width) {
    const shown = lines.filter((line) => !hiddenLines.has(line));
    const values = shown.flatMap((line) => line.values);
    if (limit !== null) values.push(limit);
    const frame = { top: marks.length ? 18 : 8, right: width - 14, bottom: height - 24, left: 0 };
    y = makeScale(values, frame.bottom, frame.top + 10, { isLog });
    const labels = y.ticks(5).map((tick) => formatNumber(tick).length);
    frame.left = Math.max(...labels, 2) * 6.6 + 8;
    x = makeScale(steps, frame.left, frame.right);
    const next = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    drawAxes(next, x, y, frame, { x: Math.max(2, Math.floor(width / 110)), y: 5 });
    drawMarks(next, x, marks, frame.top, frame.bottom);
    if (limit !== null && y.has(limit)) {
      next.append(makeSvg('line', { class: 'limit', x1: frame.left, x2: frame.right, y1: y(limit), y2: y(limit) }),
        makeSvg('text', { class: 'mark-label', x: frame.right, y: y(limit) - 4, 'text-anchor': 'end' }, `limit ${formatNumber(limit)}`));
    }
    for (const line of shown) {
      next.append(makeSvg('path', { class: `curve s${line.colour % 8}`, 'stroke-dasharray': line.dash, d: linePath(line, x, y) }));
      drawOdd(next, line, x, frame.top);
    }
    cursor = makeSvg('line', { class: 'cursor', y1: frame.top, y2: frame.bottom, visibility: 'hidden' });
    next.append(cursor);
    svg.replaceWith(next);
    svg = next;
  }
  drawInWidth(surface, draw);
  const redraw = () => draw(surface.clientWidth);

  // Returns the value of a line at a step, or the last value before it.
  function valueAt(line, step) {
    let found = null;
    for (let i = 0; i < line.steps.length && line.steps[i] <= step; ++i) found = i;
    return found === null ? null : { step: line.steps[found], value: line.values[found] };
  }
  explore(figure, surface, describeLines(title, lines), {
    at: (px) => {
      let best = null;
      steps.forEach((step, i) => {
        if (best === null || Math.abs(x(step) - px) < Math.abs(x(steps[best]) - px)) best = i;
      });
      return best;
    },
    move: (place, key) => moveInRow(place, key, steps.length),
    show: (place) => {
      const step = steps[place];
      cursor.setAttribute('x1', x(step));
      cursor.setAttribute('x2', x(step));
      cursor.setAttribute('visibility', 'visible');
      const told = lines.filter((line) => !hiddenLines.has(line)).map((line) => ({ line, at: valueAt(line, step) }));
      return {
        x: x(step), y: 4, title: `step ${step}`,
        lines: told.filter(({ at }) => at !== null).map(({ line, at }) => ({
          label: line.label, sample: lineSample(line), value: formatNumber(at.value) + (at.step === step ? '' : ` (at ${at.step})`),
        })),
      };
    },
    hide: () => cursor && cursor.setAttribute('visibility', 'hidden'),
  });

  const legend = make('div', { class: 'legend' });
  if (lines.length > 1) {
    for (const line of lines) {
      const button = make('button', { type: 'button', 'aria-pressed': 'true' }, lineSample(line), line.label);
      button.addEventListener('click', () => {
        hiddenLines.has(line) ? hiddenLines.delete(line) : hiddenLines.add(line);
        button.setAttribute('aria-pressed', String(!hiddenLines.has(line)));
        redraw();
      });
      legend.append(button);
    }
  }
  if (canSwitch && all.some((value) => value > 0)) {
    legend.append(checkbox('log scale', isLog, (isOn) => {
      isLog = isOn;
      redraw();
    }));
  }
  if (legend.children.length) figure.append(legend);
  return figure;
}
