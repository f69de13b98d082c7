// Draws the numbers of many rows over the steps as colours.

const CELL = { height: 28, most: 24, width: 1800 };  // pixels of the picture; the page scales it down

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

function paintCell(context, value, left, top, width, height, scale) {
  if (value === null) return;
  if (!Number.isFinite(value)) {
    context.fillStyle = ODD_COLOUR;
    context.fillRect(left, top, width, height);
    context.strokeStyle = '#ffffff';
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(left + 1, top + height - 2);
    context.lineTo(left + width - 1, top + 2);
    context.stroke();
    return;
  }
  context.fillStyle = value === 0 ? ZERO_COLOUR : rampColour(scale(Math.abs(value)));
  context.fillRect(left, top, width, height);
  if (value !== 0) return;
  // Visible on a dark page too.
  context.fillStyle = ZERO_INK;
  context.fillRect(left, top + height / 2 - 1, width, 2);
}

function paint(canvas, rows, columns, scale) {
  const width = Math.max(2, Math.min(CELL.most, Math.floor(CELL.width / columns)));
  canvas.width = width * columns;
  canvas.height = CELL.height * rows.length;
  const context = canvas.getContext('2d');
  rows.forEach((row, i) => {
    const top = i * CELL.height;
    row.values.forEach((value, column) => paintCell(context, value, column * width, top + 1, width, CELL.height - 2, scale));
    for (const [first, last] of stretchesOf(row.marks)) {
      for (const [colour, thickness] of [['#ffffff', 7], ['#b5400a', 4]]) {
        context.strokeStyle = colour;
        context.lineWidth = thickness;
        context.strokeRect(first * width + 2, top + 3, (last - first + 1) * width - 4, CELL.height - 6);
      }
    }
  });
}

const nameOf = (row) => (row.marks.length ? '▸ ' : '') + row.label;

// `label` describes the picture.  Returns an element with a function `fill(rows)`; rows are {label, values,
// marks: columns with findings}.  `columns` are {label} for the tip.
function heatMap(label, columns, zeroText = '0') {
  const labels = make('div', { class: 'heat-labels', 'aria-hidden': 'true' });
  const canvas = make('canvas');
  const box = make('div', { class: 'heat-box', hidden: '' });
  const plot = make('div', { class: 'heat-plot' }, canvas, box);
  const ends = make('div', { class: 'heat-steps' },
    ...[0, 0.5, 1].map((share) => make('span', {}, columns[Math.round(share * (columns.length - 1))].short)));
  const scroller = make('div', { class: 'heat-scroll' }, labels, plot);
  const foot = make('div', { class: 'heat-foot' });
  const element = make('figure', { class: 'long' }, scroller, make('div', { class: 'heat-ends' }, ends), foot);
  let rows = [];
  const rowHeight = () => plot.clientHeight / Math.max(rows.length, 1);

  explore(element, plot, label, {
    at: (px, py) => {
      if (!rows.length) return null;
      const column = Math.min(Math.max(Math.floor(px / plot.clientWidth * columns.length), 0), columns.length - 1);
      const row = Math.min(Math.max(Math.floor(py / rowHeight()), 0), rows.length - 1);
      return { row, column };
    },
    move: (place, key) => {
      if (!rows.length) return null;
      if (place === null) return key.startsWith('Arrow') ? { row: 0, column: 0 } : null;
      const down = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (down !== undefined) return { ...place, row: Math.min(Math.max(place.row + down, 0), rows.length - 1) };
      const column = moveInRow(place.column, key, columns.length);
      return column === null ? null : { ...place, column };
    },
    show: ({ row, column }) => {
      const width = plot.clientWidth / columns.length;
      const height = rowHeight();
      box.hidden = false;
      Object.assign(box.style, { left: `${column * width - 1}px`, top: `${row * height}px`, width: `${width + 2}px`, height: `${height}px` });
      const value = formatNumber(rows[row].values[column]);
      const found = rows[row].marks.includes(column) ? [{ label: '', value: 'a rule has a finding here' }] : [];
      return { x: column * width, y: row * height + height + 4, title: rows[row].label, lines: [{ label: columns[column].label, value }, ...found] };
    },
    hide: () => { box.hidden = true; },
  });

  function writeLabels() {
    const most = Math.max(8, Math.floor((labels.clientWidth - 8) / 6.3));
    [...labels.children].forEach((child, i) => { child.textContent = shortened(nameOf(rows[i]), most); });
  }
  drawInWidth(scroller, writeLabels);

  element.fill = (next) => {
    rows = next;
    const sizes = rows.flatMap((row) => row.values).map((value) => (value === null ? NaN : Math.abs(value)));
    // Shows at most twelve decades: smaller numbers share a colour.
    const most = Math.max(...sizes.filter(Number.isFinite), 0);
    const seen = sizes.filter((size) => size >= most * 1e-12 && size > 0);
    const scale = makeScale(seen, 0, 1, { isLog: true });
    labels.replaceChildren(...rows.map((row) => make('div', { class: row.marks.length ? 'found' : null, title: row.label })));
    element.style.setProperty('--label', `${Math.max(...rows.map((row) => nameOf(row).length), 6) * 6.3 + 10}px`);
    element.style.setProperty('--rows', Math.max(rows.length, 1));
    canvas.style.height = `calc(${rows.length} * var(--row))`;
    paint(canvas, rows, columns.length, scale);
    writeLabels();
    const has = (test) => rows.some((row) => row.values.some(test));
    const sample = (colour, text) => make('span', {}, make('i', { class: 'swatch', style: `background:${colour}` }), text);
    foot.replaceChildren(...[
      seen.length ? make('span', {}, formatNumber(scale.least), ramp(), formatNumber(scale.most)) : null,
      has((value) => value === 0) ? sample(`linear-gradient(${ZERO_COLOUR} 42%, ${ZERO_INK} 42%, ${ZERO_INK} 56%, ${ZERO_COLOUR} 56%)`, zeroText) : null,
      has((value) => value !== null && !Number.isFinite(value)) ? sample(`linear-gradient(150deg, ${ODD_COLOUR} 42%, #fff 44%, #fff 56%, ${ODD_COLOUR} 58%)`, 'NaN or infinite') : null,
      has((value) => value === null) ? make('span', {}, 'blank: not saved') : null,
      rows.some((row) => row.marks.length) ? make('span', {}, make('i', { class: 'swatch', style: 'border:2px solid #b5400a' }), 'finding of a rule') : null,
    ].filter(Boolean));
  };
  return element;
}
