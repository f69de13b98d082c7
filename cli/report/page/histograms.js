// Draws histograms over the steps, one behind the other.

// Returns the position of a value between the edges of the bins, from 0 to 1.
function shareOf(edges, value) {
  const bin = Math.min(Math.max(edges.findIndex((edge) => edge > value) - 1, 0), edges.length - 2);
  return (bin + (value - edges[bin]) / (edges[bin + 1] - edges[bin])) / (edges.length - 1);
}
// Returns about `count` round values between the edges; powers of ten if the bins differ in size.
function edgeTicks(edges, count) {
  const [least, most] = [edges[0], edges[edges.length - 1]];
  const widths = edges.slice(1).map((edge, i) => edge - edges[i]);
  const isEven = Math.max(...widths) < 3 * Math.min(...widths);
  let values = roundTicks(least, most, count);
  if (!isEven) {
    const small = Math.min(...widths);
    const powers = powerTicks(small, Math.max(-least, most, small * 10), Math.max(count / 2, 1));
    values = [...powers.map((power) => -power).reverse(), 0, ...powers];
  }
  return values.filter((value) => value >= least && value <= most).map((value) => ({ value, share: shareOf(edges, value) }));
}

function drawRidges(histograms) {
  const surface = make('div', { class: 'surface' });
  const figure = make('figure', {}, surface);
  const { rows, edges } = histograms;
  const bins = edges.length - 1;
  // A row with a single peak must not flatten the others.
  const peaks = rows.map((row) => Math.max(...row.counts)).filter((peak) => peak > 0).sort((a, b) => a - b);
  const most = Math.min(peaks[peaks.length - 1] || 1, 2 * (peaks[Math.floor(peaks.length / 2)] || 1));
  const gap = Math.max(10, Math.min(22, 420 / rows.length));
  const rise = Math.max(30, gap * 2.4);
  const height = rise + gap * rows.length + 34;
  let svg = makeSvg('svg');
  let frame = null;
  let ridges = [];
  surface.append(svg);

  const baseOf = (i) => rise + gap * (i + 1);
  function ridgePath(row, base) {
    const width = (frame.right - frame.left) / bins;
    let path = `M${frame.left} ${base}`;
    row.counts.forEach((count, bin) => {
      path += `L${(frame.left + width * (bin + 0.5)).toFixed(1)} ${(base - Math.min(count / most, 1) * rise).toFixed(1)}`;
    });
    return `${path}L${frame.right} ${base}Z`;
  }
  function draw(width) {
    frame = { left: 66, right: width - 10 };
    const next = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    let right = -Infinity;
    const ticks = peaks.length ? edgeTicks(edges, (frame.right - frame.left) / 70) : [];
    for (const { value, share } of ticks) {
      const x = frame.left + (frame.right - frame.left) * share;
      const text = formatNumber(value);
      if (x - text.length * 3.2 < right + 8) continue;
      right = x + text.length * 3.2;
      next.append(makeSvg('line', { class: 'gridline', x1: x, x2: x, y1: rise, y2: height - 24 }),
        makeSvg('text', { x, y: height - 8, 'text-anchor': 'middle' }, text));
    }
    let free = -Infinity;
    ridges = rows.map((row, i) => {
      const base = baseOf(i);
      const isFound = row.is_found;
      const ridge = makeSvg('path', {
        class: `ridge${isFound ? ' found' : ''}`, d: ridgePath(row, base), 'fill-opacity': (0.35 + 0.55 * (i + 1) / rows.length).toFixed(2),
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
  drawInWidth(surface, draw);

  explore(figure, surface, `Histograms of ${histograms.tensor} at ${rows.length} steps`, {
    at: (px, py) => ({
      row: Math.min(Math.max(Math.round((py - rise) / gap - 0.6), 0), rows.length - 1),
      bin: Math.min(Math.max(Math.floor(((px - frame.left) / (frame.right - frame.left)) * bins), 0), bins - 1),
    }),
    move: (place, key) => {
      if (place === null) return key.startsWith('Arrow') ? { row: 0, bin: Math.floor(bins / 2) } : null;
      const down = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (down !== undefined) return { ...place, row: Math.min(Math.max(place.row + down, 0), rows.length - 1) };
      const bin = moveInRow(place.bin, key, bins);
      return bin === null ? null : { ...place, bin };
    },
    show: ({ row, bin }) => {
      ridges.forEach((ridge, i) => ridge.classList.toggle('active', i === row));
      const lines = [{ label: `${formatNumber(edges[bin])} to ${formatNumber(edges[bin + 1])}`, value: `${rows[row].counts[bin]} elements` }];
      if (rows[row].odd) lines.push({ label: 'NaN or infinite', value: `${rows[row].odd} elements` });
      return { x: frame.left + ((frame.right - frame.left) * (bin + 0.5)) / bins, y: baseOf(row) + 6, title: `step ${rows[row].step}`, lines };
    },
    hide: () => ridges.forEach((ridge) => ridge.classList.remove('active')),
  });
  return figure;
}

function drawHistograms(place) {
  const all = report.histograms;
  const shown = make('div');
  const note = make('p', { class: 'note' });
  const show = (i) => {
    shown.replaceChildren(make('h3', {}, all[i].tensor), drawRidges(all[i]));
    note.textContent = `Each step has ${all[i].elements} elements; the outer bins include elements beyond the ends. Early steps are behind, late steps in front.`;
  };
  place.append(make('div', { class: 'card' },
    make('div', { class: 'controls' }, chooser('Tensor', all.map((each) => (each.rows.some((row) => row.is_found) ? `✕ ${each.tensor}` : each.tensor)), show)), shown, note));
  show(0);
}
