// The numbers of many rows over the steps, as colours.

const PRINTED = { width: 1800, height: 28 };  // pixels of the picture on paper, and of a row
const LEAST_CELL = 1;  // pixels of the screen
const LEAST_STRIPED = 3;

function ramp() {
  const canvas = make('canvas', { class: 'ramp', width: 140, height: 1, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  for (let i = 0; i < 140; ++i) {
    context.fillStyle = rampColour(i / 139);
    context.fillRect(i, 0, 1, 1);
  }
  return canvas;
}

const ZERO_COLOUR = '#000000';
const ZERO_INK = '#9aa3b0';
const ODD_COLOUR = '#d55e00';

// Returns the colour of a value as a pixel of ImageData.
function pixelColour(value, scale) {
  const text = !Number.isFinite(value) ? ODD_COLOUR : value === 0 ? ZERO_COLOUR : rampColour(scale(Math.abs(value)));
  const parts = text.startsWith('#') ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) : text.match(/\d+/g).map(Number);
  return new Uint32Array(new Uint8Array([...parts, 255]).buffer)[0];
}
// Returns the colours of rows; 0 is transparent.
function coloursOf(rows, scale) {
  return rows.map((row) => Uint32Array.from(row.values, (value) => (value === null ? 0 : pixelColour(value, scale))));
}

// Draws over a cell what its colour alone does not say: a stripe for a value that is not finite, a line for 0.
function markCell(context, value, left, top, width, height, ratio) {
  if (Number.isFinite(value)) {
    // Visible on a dark page too.
    context.fillStyle = ZERO_INK;
    context.fillRect(left, top + height / 2 - ratio / 2, width, ratio);
    return;
  }
  if (width < LEAST_STRIPED * ratio) return;
  context.strokeStyle = '#ffffff';
  context.lineWidth = ratio;
  context.beginPath();
  context.moveTo(left + ratio / 2, top + height - ratio);
  context.lineTo(left + width - ratio / 2, top + ratio);
  context.stroke();
}

// Returns where each column begins and ends: half-way to its neighbours, but not farther than nine in ten columns reach, so
// that a long time without steps stays blank.
function columnEnds(x) {
  const gaps = x.slice(1).map((at, i) => at - x[i]);
  const usual = [...gaps].sort((a, b) => a - b)[Math.floor(0.9 * (gaps.length - 1))] || 1;
  const reach = (gap, other) => Math.min((gap ?? other ?? usual) / 2, usual);
  return Array.from(x, (at, i) => [at - reach(gaps[i - 1], gaps[i]), at + reach(gaps[i], gaps[i - 1])]);
}

// Paints what lies in the range; columns narrower than LEAST_CELL are widened.  Where columns overlap, non-finite values
// and findings are on top.  `size` is {width, height}, the pixels of the picture and of a row; `ratio` is the number of them
// in a pixel of the screen.
function paint(canvas, rows, colours, ends, [from, to], size, ratio) {
  const { width, height } = size;
  canvas.width = width;
  canvas.height = height * rows.length;
  const context = canvas.getContext('2d');
  const perUnit = width / (to - from);
  // Whole pixels, so that there is no seam between columns.
  const boxOf = (first, last) => {
    const left = Math.round((ends[first][0] - from) * perUnit);
    return [left, Math.max(Math.round((ends[last][1] - from) * perUnit) - left, Math.round(LEAST_CELL * ratio))];
  };
  const shown = [...ends.keys()].filter((i) => ends[i][1] > from && ends[i][0] < to);
  const boxes = shown.map((column) => boxOf(column, column));
  const isOdd = (value) => value !== null && !Number.isFinite(value);
  // One row of pixels for each row of the map, which the canvas stretches: many cells cost little.
  const pixels = new ImageData(width, rows.length);
  const words = new Uint32Array(pixels.data.buffer);
  const marked = [];
  rows.forEach((row, i) => {
    for (const odd of [false, true]) {
      shown.forEach((column, k) => {
        const value = row.values[column];
        if (value === null || isOdd(value) !== odd) return;
        const [left, wide] = boxes[k];
        words.fill(colours[i][column], i * width + Math.max(left, 0), i * width + Math.max(Math.min(left + wide, width), 0));
        if (odd || value === 0) marked.push([i, value, left, wide]);
      });
    }
  });
  const strip = make('canvas', { width, height: rows.length });
  strip.getContext('2d').putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  const gap = Math.max(1, Math.round(height / 28));
  rows.forEach((row, i) => context.drawImage(strip, 0, i, width, 1, 0, i * height + gap, width, height - 2 * gap));
  for (const [i, value, left, wide] of marked) markCell(context, value, left, i * height + gap, wide, height - 2 * gap, ratio);
  rows.forEach((row, i) => {
    for (const [first, last] of stretchesOf(row.marks)) {
      const [left, wide] = boxOf(first, last);
      for (const [colour, thickness] of [['#ffffff', 3.5], ['#b5400a', 2]]) {
        context.strokeStyle = colour;
        context.lineWidth = thickness * ratio;
        context.strokeRect(left + ratio, i * height + 1.5 * ratio, Math.max(wide - 2 * ratio, ratio), height - 3 * ratio);
      }
    }
  });
}

const nameOf = (row) => (row.marks.length ? '▸ ' : '') + row.label;

// Data: {x: ascending steps, labels: of the steps for tips, rows: [{label, values, marks: columns with findings,
// labels: those of its own}]}.
// Options: label of the picture; zeroText: what 0 means; xTitle; group, as in joinGroup(); onSelect({row, column}), for a click
// and for Enter; onZoom(range).
function drawHeatMap(element, data, { label, zeroText = '0', xTitle = 'step', group = '', onSelect = null, onZoom = () => {} }) {
  const labels = make('div', { class: 'heat-labels', 'aria-hidden': 'true' });
  const canvas = make('canvas');
  const box = make('div', { class: 'heat-box', hidden: '' });
  const line = make('div', { class: 'heat-line', hidden: '' });
  const plot = make('div', { class: `heat-plot${onSelect ? ' selects' : ''}` }, canvas, box, line);
  const axis = make('div', { class: 'heat-axis' });
  const scroller = make('div', { class: 'heat-scroll' }, labels, plot);
  const foot = make('div', { class: 'heat-foot' });
  const figure = make('figure', { class: 'long heat' }, scroller, axis, foot);
  element.append(figure);
  let x = [];
  let columns = [];
  let rows = [];
  let ends = [];
  let whole = [0, 1];
  let range = null;
  let scale = null;
  let colours = [];
  let isPrinted = false;
  // Read when the size or the rows change only: the browser lays out the page for it.
  let plotSize = { width: 0, height: 0 };
  const rowHeight = () => plotSize.height / Math.max(rows.length, 1);
  const shownRange = () => range || whole;
  const pixelOf = (at) => ((at - shownRange()[0]) / (shownRange()[1] - shownRange()[0])) * plotSize.width;
  const numberAt = (px) => shownRange()[0] + (px / plotSize.width) * (shownRange()[1] - shownRange()[0]);

  function drawAxis() {
    const { width } = plotSize;
    if (!width || !x.length) return;
    const [from, to] = shownRange();
    const at = makeScale([from, to], 0, width, { isWhole: true });
    const few = x.length === 1 ? [x[0]] : wholeTicks(from, to, Math.max(2, Math.floor(width / 100)));
    axis.replaceChildren(makeSvg('svg', { viewBox: `0 0 ${width} 34`, 'aria-hidden': 'true' },
      ...few.flatMap((tick) => [
        makeSvg('line', { class: 'tick', x1: at(tick), x2: at(tick), y1: 0, y2: 4 }),
        makeSvg('text', {
          class: 'x-tick', x: at(tick), y: 15, 'text-anchor': at(tick) < 20 ? 'start' : (at(tick) > width - 20 ? 'end' : 'middle'),
        }, formatWhole(tick)),
      ]),
      makeSvg('text', { class: 'axis-title', x: width / 2, y: 30, 'text-anchor': 'middle' }, xTitle)));
  }
  const measure = () => { plotSize = { width: plot.clientWidth, height: plot.clientHeight }; };
  function redraw() {
    if (rows.length && plotSize.width) {
      const ratio = isPrinted ? PRINTED.width / plotSize.width : window.devicePixelRatio;
      const size = isPrinted ? PRINTED : { width: Math.round(plotSize.width * ratio), height: Math.max(Math.round(rowHeight() * ratio), 3) };
      paint(canvas, rows, colours, ends, shownRange(), size, ratio);
    }
    drawAxis();
  }
  function zoom(next) {
    const cut = next && [Math.max(next[0], whole[0]), Math.min(next[1], whole[1])];
    range = cut && cut[1] > cut[0] && (cut[0] > whole[0] || cut[1] < whole[1]) ? cut : null;
    zoomer.show(range);
    drawing.soon();
  }
  function follow(at) {
    line.hidden = at === null || at < shownRange()[0] || at > shownRange()[1];
    if (!line.hidden) line.style.left = `${pixelOf(at)}px`;
  }
  const shared = joinGroup(group, { follow, zoom });
  const zoomer = zoomByDrag(plot, {
    numberAt,
    frame: () => ({ left: 0, right: plotSize.width, top: 0, bottom: plotSize.height }),
    onRange(next) {
      zoom(next);
      shared.zoom(range);
      onZoom(range);
    },
  });

  explore(plot, label, {
    select: onSelect,
    help: ' Plus and minus zoom, 0 shows all.',
    at(px, py) {
      if (!rows.length) return null;
      const row = Math.min(Math.max(Math.floor(py / rowHeight()), 0), rows.length - 1);
      return { row, column: nearestIndex(x, numberAt(px)) };
    },
    move(place, key) {
      if (!rows.length) return null;
      if (place === null) return key.startsWith('Arrow') ? { row: 0, column: lowerBound(x, shownRange()[0]) } : null;
      if (zoomer.keys(key, x[place.column], shownRange())) return place;
      const down = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (down !== undefined) return { ...place, row: Math.min(Math.max(place.row + down, 0), rows.length - 1) };
      const first = lowerBound(x, shownRange()[0]);
      const count = Math.max(lowerBound(x, shownRange()[1]) - first, 1);
      const column = moveInRow(Math.min(Math.max(place.column - first, 0), count - 1), key, count);
      return column === null ? null : { ...place, column: first + column };
    },
    show({ row, column }) {
      const [left, right] = ends[column].map((end) => Math.min(Math.max(pixelOf(end), 0), plotSize.width));
      const height = rowHeight();
      box.hidden = false;
      Object.assign(box.style, { left: `${left - 1}px`, top: `${row * height}px`, width: `${Math.max(right - left, 2) + 2}px`, height: `${height}px` });
      shared.point(x[column]);
      const value = formatNumber(rows[row].values[column]);
      const found = rows[row].marks.includes(column) ? [{ label: '', value: 'a rule has a finding here' }] : [];
      return { x: left, y: row * height + height + 4, title: rows[row].label, lines: [{ label: (rows[row].labels ?? columns)[column], value }, ...found] };
    },
    hide() {
      box.hidden = true;
      shared.point(null);
    },
  });

  function writeLabels() {
    const most = Math.max(8, Math.floor((labels.clientWidth - 8) / 6.3));
    [...labels.children].forEach((child, i) => { child.textContent = shortened(nameOf(rows[i]), most); });
    drawAxis();
  }
  function writeFoot(seen, hasSmaller) {
    const has = (test) => rows.some((row) => row.values.some(test));
    const sample = (colour, text) => make('span', {}, make('i', { class: 'swatch', style: `background:${colour}` }), text);
    foot.replaceChildren(...[
      seen.length ? make('span', {}, `${hasSmaller ? '≤ ' : ''}${formatNumber(scale.least)}`, ramp(), formatNumber(scale.most)) : null,
      has((value) => value === 0) ? sample(`linear-gradient(${ZERO_COLOUR} 42%, ${ZERO_INK} 42%, ${ZERO_INK} 56%, ${ZERO_COLOUR} 56%)`, zeroText) : null,
      has((value) => value !== null && !Number.isFinite(value)) ? sample(`linear-gradient(150deg, ${ODD_COLOUR} 42%, #fff 44%, #fff 56%, ${ODD_COLOUR} 58%)`, 'NaN or infinite') : null,
      has((value) => value === null) || ends.some((end, i) => i && end[0] > ends[i - 1][1]) ? make('span', {}, 'blank: not saved') : null,
      rows.some((row) => row.marks.length) ? make('span', {}, make('i', { class: 'swatch', style: 'border:2px solid #b5400a' }), 'finding of a rule') : null,
    ].filter(Boolean));
  }

  function update(next) {
    ({ x, labels: columns, rows } = next);
    ends = columnEnds(x);
    whole = x.length ? [ends[0][0], ends[ends.length - 1][1]] : [0, 1];
    const sizes = rows.flatMap((row) => Array.from(row.values)).map((value) => (value === null ? NaN : Math.abs(value)));
    // Shows at most twelve decades: smaller numbers share a colour.
    const { most } = extentOf(sizes, true);
    const seen = sizes.filter((size) => size >= most * 1e-12 && size > 0 && Number.isFinite(size));
    scale = makeScale(seen, 0, 1, { isLog: true });
    colours = coloursOf(rows, scale);
    labels.replaceChildren(...rows.map((row) => make('div', { class: row.marks.length ? 'found' : null, title: row.label })));
    figure.style.setProperty('--label', `${Math.max(...rows.map((row) => nameOf(row).length), 6) * 6.3 + 10}px`);
    figure.style.setProperty('--rows', Math.max(rows.length, 1));
    canvas.style.height = `calc(${rows.length} * var(--row))`;
    measure();
    redraw();
    writeLabels();
    writeFoot(seen, sizes.some((size) => size > 0 && size < most * 1e-12));
  }
  update(data);
  function draw() {
    measure();
    redraw();
    writeLabels();
  }
  const drawing = drawInWidth(scroller, draw, redraw);
  function print(event) {
    isPrinted = event.type === 'beforeprint';
    measure();
    redraw();
  }
  ['beforeprint', 'afterprint'].forEach((name) => window.addEventListener(name, print));
  return {
    figure,
    update,
    zoom,
    destroy() {
      drawing.stop();
      ['beforeprint', 'afterprint'].forEach((name) => window.removeEventListener(name, print));
      shared.leave();
      figure.remove();
    },
  };
}
