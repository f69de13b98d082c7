// Losses and metrics.

// Converts a line of the data for drawing: dashes distinguish modes, colours everything else.
function toLine(line, i = 0, lines = [line]) {
  return { label: labelOfLine(line, lines), colour: line.colour ?? i, dash: DASHES[line.mode], x: line.steps, y: line.values };
}

function drawCurves(place) {
  const grid = make('div', { class: 'grid' });
  const smoothing = make('div', { class: 'controls' });
  place.append(smoothing, grid);
  const marks = report.rules ? firstFindings() : [];
  const charts = report.charts.map((chart) => {
    const card = make('div', { class: 'card' });
    grid.append(card);
    const lines = chart.lines.map(toLine);
    return drawLineChart(card, { lines, marks, hidden: chart.hidden_lines }, { title: chart.title, yTitle: chart.measure, group: STEPS });
  });
  smoothing.append(slider('Smoothing', 0.99, 0.01, (weight) => charts.forEach((chart) => chart.smooth(weight))),
    make('span', { class: 'hint' }, 'Drag over a chart to zoom; double click shows all.'));
  const isOdd = (value) => value !== null && !Number.isFinite(value);
  const notes = [
    marks.length ? 'Dotted lines mark the first finding of each rule, with its number above.' : '',
    report.charts.some((chart) => chart.lines.some((line) => line.values.some(isOdd))) ? 'Crosses mark NaN and infinite values.' : '',
    report.hidden_charts ? `${countText(report.hidden_charts, 'more chart')} are not shown.` : '',
  ].filter(Boolean);
  if (notes.length) place.append(make('p', { class: 'note' }, notes.join(' ')));
}
