// The quality of predictions.

function drawConfusion({ classes, counts }) {
  const head = make('tr', {}, make('td'), ...classes.map((each) => make('th', { scope: 'col' }, String(each))));
  const rows = counts.map((row, i) => {
    const all = row.reduce((sum, count) => sum + count, 0);
    return make('tr', {}, make('th', { scope: 'row' }, String(classes[i])), ...row.map((count, j) => {
      const share = all ? count / all : 0;
      const colour = count ? rampColour(share) : 'transparent';
      const ink = count ? (share > 0.55 ? '#000' : '#fff') : 'var(--faint)';
      return make('td', { style: `background:${colour};color:${ink}`, title: `label ${classes[i]}, predicted ${classes[j]}: ${count} of ${all}` }, String(count));
    }));
  });
  return make('div', { class: 'card' }, make('h3', {}, 'Confusion matrix'),
    make('p', { class: 'note' }, 'Rows are labels, columns are predictions; colours show shares of a row.'),
    make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Confusion matrix' },
      make('table', { class: 'confusion' }, make('thead', {}, head), make('tbody', {}, ...rows))));
}

// Creates a square with the axes `x` and `y`; `fill(svg, x, y)` draws into it.
function squareChart(label, x, y, texts, fill) {
  const svg = makeSvg('svg', { class: 'square', viewBox: '0 0 360 330', role: 'img', 'aria-label': label });
  drawAxes(svg, x, y, { left: 46, right: 346, top: 16, bottom: 286 }, { x: 4, y: 5 }, texts);
  fill(svg);
  return svg;
}

function drawRoc(curves) {
  const x = makeScale([0, 1], 46, 346);
  const y = makeScale([0, 1], 286, 20);
  const chart = squareChart('ROC curves', x, y, { x: 'false positives', y: 'true positives' }, (svg) => {
    svg.append(makeSvg('line', { class: 'gridline', x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
    curves.forEach((curve, i) => svg.append(makeSvg('path', {
      class: `curve s${i % 8}`, 'stroke-dasharray': [null, '6 3', '1.5 3'][Math.floor(i / 8) % 3],
      d: linePaths({ x: curve.x }, curve.y, curve.x.map((_, k) => k), x, y).path,
    })));
  });
  const legend = curves.map((curve, i) => make('span', {}, lineSample({ colour: i, dash: [null, '6 3', '1.5 3'][Math.floor(i / 8) % 3] }),
    ` class ${curve.class}: area ${formatNumber(curve.area)} `));
  return make('div', { class: 'card' }, make('h3', {}, 'ROC'), chart, make('div', { class: 'legend' }, ...legend));
}

function drawResiduals(residuals) {
  const both = [...residuals.labels, ...residuals.predictions];
  const x = makeScale(both, 46, 346);
  const y = makeScale(both, 286, 20);
  const chart = squareChart('Predictions against labels', x, y, { x: 'label', y: 'prediction' }, (svg) => {
    svg.append(makeSvg('line', { class: 'limit', x1: x(x.least), y1: y(x.least), x2: x(x.most), y2: y(x.most) }));
    residuals.labels.forEach((label, i) => svg.append(makeSvg('circle', { class: 'dot', r: 2.6, cx: x(label), cy: y(residuals.predictions[i]) })));
  });
  const fact = (name, value) => make('div', {}, make('dt', {}, name), make('dd', {}, formatNumber(value)));
  return make('div', { class: 'card' }, make('h3', {}, 'Residuals'), chart,
    make('dl', { class: 'facts' }, fact('Root mean square', residuals.rms), fact('Mean absolute', residuals.mean_absolute), fact('Bias', residuals.bias)));
}

function drawPredictions(place) {
  const { step, count, confusion, roc, residuals } = report.predictions;
  place.append(make('p', { class: 'note' }, `Step ${step}, ${count} predictions.`), make('div', { class: 'grid' }, ...[
    confusion ? drawConfusion(confusion) : null, roc.length ? drawRoc(roc) : null, residuals ? drawResiduals(residuals) : null].filter(Boolean)));
}
