// Histograms over the steps, one behind the other.

// Returns the function that maps an element to 0..1: linear, or logarithmic beyond `unit` if that is above 0.
function binScale(edges, unit) {
  const map = unit > 0 ? (value) => Math.asinh(value / unit) : (value) => value;
  const [first, last] = [map(edges[0]), map(edges[edges.length - 1])];
  return (value) => (map(value) - first) / (last - first);
}
// Returns about `count` round values between the edges; powers of ten if the scale is logarithmic.
function binTicks(edges, unit, count) {
  const [least, most] = [edges[0], edges[edges.length - 1]];
  let values = roundTicks(least, most, count);
  if (unit > 0) {
    const powers = powerTicks(unit, Math.max(-least, most, unit * 10), Math.max(count / 2, 1));
    values = [...powers.map((power) => -power).reverse(), 0, ...powers];
  }
  const share = binScale(edges, unit);
  return values.filter((value) => value >= least && value <= most).map((value) => ({ value, share: share(value) }));
}

// Returns which ticks have room, 0 first.  `places` are {x, text}.
function ticksWithRoom(places) {
  const halfOf = (place) => place.text.length * 3.2 + 4;
  const kept = [];
  for (const place of [...places].sort((a, b) => (b.value === 0) - (a.value === 0))) {
    if (kept.every((each) => Math.abs(each.x - place.x) >= halfOf(each) + halfOf(place))) kept.push(place);
  }
  return kept;
}

// Data: {edges: of the bins, unit: the scale is linear below it, 0 if everywhere, rows: [{step, counts, odd, is_found}]}.
// Options: label; xTitle.
function drawRidges(element, data, { label, xTitle = 'value' }) {
  const surface = make('div', { class: 'surface' });
  const figure = make('figure', {}, surface);
  element.append(figure);
  let { rows, edges, unit } = data;
  let svg = makeSvg('svg');
  let frame = null;
  let ridges = [];
  let size = {};
  surface.append(svg);

  function measure() {
    // A row with a single peak must not flatten the others.
    const peaks = rows.map((row) => Math.max(...row.counts)).filter((peak) => peak > 0).sort((a, b) => a - b);
    const most = Math.min(peaks[peaks.length - 1] || 1, 2 * (peaks[Math.floor(peaks.length / 2)] || 1));
    const gap = Math.max(10, Math.min(22, 420 / rows.length));
    const rise = Math.max(30, gap * 2.4);
    size = { most, gap, rise, height: rise + gap * rows.length + 50, bins: edges.length - 1, isEmpty: peaks.length === 0 };
  }
  const baseOf = (i) => size.rise + size.gap * (i + 1);
  function ridgePath(row, base) {
    const width = (frame.right - frame.left) / size.bins;
    let path = `M${frame.left} ${base}`;
    row.counts.forEach((count, bin) => {
      path += `L${(frame.left + width * (bin + 0.5)).toFixed(1)} ${(base - Math.min(count / size.most, 1) * size.rise).toFixed(1)}`;
    });
    return `${path}L${frame.right} ${base}Z`;
  }
  function draw(width) {
    frame = { left: 66, right: width - 10 };
    const { height, rise, isEmpty } = size;
    const next = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    const ticks = isEmpty ? [] : binTicks(edges, unit, (frame.right - frame.left) / 70);
    const places = ticks.map(({ value, share }) => ({ value, x: frame.left + (frame.right - frame.left) * share, text: formatNumber(value) }));
    for (const { value, x, text } of ticksWithRoom(places)) {
      next.append(makeSvg('line', { class: value === 0 ? 'gridline zero' : 'gridline', x1: x, x2: x, y1: rise, y2: height - 40 }),
        makeSvg('text', { class: 'x-tick', x, y: height - 24, 'text-anchor': 'middle' }, text));
    }
    next.append(makeSvg('text', { class: 'axis-title', x: (frame.left + frame.right) / 2, y: height - 6, 'text-anchor': 'middle' }, xTitle),
      makeSvg('text', { class: 'axis-title', x: frame.left - 8, y: rise, 'text-anchor': 'end' }, 'step'));
    let free = rise + 2;
    ridges = rows.map((row, i) => {
      const base = baseOf(i);
      const ridge = makeSvg('path', {
        class: `ridge${row.is_found ? ' found' : ''}`, d: ridgePath(row, base), 'fill-opacity': (0.35 + 0.55 * (i + 1) / rows.length).toFixed(2),
      });
      next.append(ridge);
      if (row.odd) next.append(makeSvg('text', { class: 'mark-label', x: frame.right, y: base - 2, 'text-anchor': 'end' }, `✕ ${row.odd}`));
      if (base - free >= 13) {
        free = base;
        next.append(makeSvg('text', { x: frame.left - 8, y: base, 'text-anchor': 'end' }, String(row.step)));
      }
      return ridge;
    });
    svg.replaceWith(next);
    svg = next;
  }
  measure();
  const { stop } = drawInWidth(surface, draw);

  explore(surface, label, {
    at: (px, py) => frame && ({
      row: Math.min(Math.max(Math.round((py - size.rise) / size.gap - 0.6), 0), rows.length - 1),
      bin: Math.min(Math.max(Math.floor(((px - frame.left) / (frame.right - frame.left)) * size.bins), 0), size.bins - 1),
    }),
    move(place, key) {
      if (place === null) return key.startsWith('Arrow') ? { row: 0, bin: Math.floor(size.bins / 2) } : null;
      const down = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (down !== undefined) return { ...place, row: Math.min(Math.max(place.row + down, 0), rows.length - 1) };
      const bin = moveInRow(place.bin, key, size.bins);
      return bin === null ? null : { ...place, bin };
    },
    show({ row, bin }) {
      ridges.forEach((ridge, i) => ridge.classList.toggle('active', i === row));
      const lines = [{ label: `${formatNumber(edges[bin])} to ${formatNumber(edges[bin + 1])}`, value: countText(rows[row].counts[bin], 'element') }];
      if (rows[row].odd) lines.push({ label: 'NaN or infinite', value: countText(rows[row].odd, 'element') });
      return { x: frame.left + ((frame.right - frame.left) * (bin + 0.5)) / size.bins, y: baseOf(row) + 6, title: `step ${rows[row].step}`, lines };
    },
    hide: () => ridges.forEach((ridge) => ridge.classList.remove('active')),
  });
  return {
    figure,
    update(next) {
      ({ rows, edges, unit } = next);
      measure();
      if (surface.clientWidth) draw(surface.clientWidth);
    },
    destroy() {
      stop();
      figure.remove();
    },
  };
}
