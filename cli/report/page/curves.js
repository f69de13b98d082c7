// Losses and metrics.

// Converts a line of the data for drawing: dashes distinguish modes, colours everything else.
function toLine(line, i = 0, lines = [line]) {
  const several = (get) => new Set(lines.map(get)).size > 1;
  const parts = [];
  if (several((each) => each.tensor)) parts.push(line.tensor);
  if (several((each) => each.mode) || line.mode !== 'GLOBAL') parts.push(line.mode);
  if (several((each) => each.worker)) parts.push(line.worker);
  return { label: parts.join(' ') || line.tensor, colour: i, dash: DASHES[line.mode], steps: line.steps, values: line.values };
}

function drawCurves(place) {
  const grid = make('div', { class: 'grid' });
  for (const chart of report.charts) {
    grid.append(make('div', { class: 'card' },
      lineChart({ title: chart.title, lines: chart.lines.map(toLine), marks: firstFindings() })));
  }
  place.append(grid);
  const isOdd = (value) => value !== null && !Number.isFinite(value);
  const notes = [
    report.rules.length ? 'Dotted lines mark the first finding of each rule, with its number above.' : '',
    report.charts.some((chart) => chart.lines.some((line) => line.values.some(isOdd))) ? 'Crosses mark NaN and infinite values.' : '',
  ].filter(Boolean);
  if (notes.length) place.append(make('p', { class: 'note' }, notes.join(' ')));
}
