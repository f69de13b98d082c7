// What each worker recorded, and how much the workers differ.

function workersTable() {
  const loss = report.charts.find((chart) => chart.is_loss);
  const rows = report.workers.map((worker) => {
    const line = loss && loss.lines.find((each) => each.worker === worker.name);
    return make('tr', {}, make('th', { scope: 'row' }, worker.name), make('td', { class: 'number' }, String(worker.tensors)),
      make('td', { class: 'number' }, line ? formatNumber(line.values[line.values.length - 1]) : '–'), make('td', { class: 'number' }, String(worker.findings)));
  });
  return make('div', { class: 'card' }, make('div', { class: 'scroll' }, make('table', {},
    make('thead', {}, make('tr', {}, ...['Worker', 'Tensors', `Last ${loss ? loss.title : 'loss'}`, 'Findings'].map((text) => make('th', {}, text)))),
    make('tbody', {}, ...rows))));
}

// Returns (greatest - least) / mean size, which is 0 if the workers are equal.
function spreadOf(layer, statistic, column) {
  const values = layer.numbers.map((_, worker) => numbersOf(layer, worker, statistic)[column]).filter((value) => value !== null && value !== undefined);
  if (values.length < 2) return null;
  if (!values.every(Number.isFinite)) return NaN;
  const size = values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length;
  return size === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / size;
}

function drawSpread() {
  const { layers, steps } = report.statistics;
  const shared = layers.filter((layer) => layer.numbers.filter((each) => each.length).length > 1);
  if (!shared.length) return null;
  const all = groupsOf(shared);
  const rowsOf = (group) => all[group].layers.map((layer) => ({
    label: layer.tensor, values: steps.map((_, column) => spreadOf(layer, 0, column)), marks: layer.found,
  }));
  const first = Math.max(all.findIndex((group) => group.key === 'weights'), 0);
  const place = make('div');
  const data = (group) => ({ ...stepsOfLayers(), rows: rowsOf(group) });
  const map = drawHeatMap(place, data(first), { label: 'Heat map of differences between workers over the steps', zeroText: 'equal', group: STEPS });
  return make('div', { class: 'card long' }, make('h3', {}, `Difference between workers: ${nameOfStatistic(report.statistics.statistics[0])}`),
    make('p', { class: 'note' }, '(Largest minus smallest) divided by the mean size. Weights of replicas should be equal.'),
    all.length > 1 ? make('div', { class: 'controls' }, chooser('Tensors', all.map((group) => group.name), (group) => map.update(data(group)), first)) : null, place);
}

// One chart for each worker, on one scale.
function drawCharts() {
  const { layers, steps, statistics, workers } = report.statistics;
  if (!layers.length || workers.length < 2) return null;
  const culprit = report.rules.length ? report.rules[0].findings[0].tensor : null;
  const state = { layer: Math.max(layers.findIndex((layer) => layer.tensor === culprit), 0), statistic: 0 };
  const charts = make('div', { class: 'multiples' });
  function update() {
    const layer = layers[state.layer];
    const scale = sparklineScale(workers.flatMap((_, worker) => numbersOf(layer, worker, state.statistic)));
    charts.replaceChildren();
    workers.forEach((name, worker) => drawMultiple(charts, layer, worker, state.statistic, scale, name));
  }
  const set = (name) => (value) => {
    state[name] = value;
    update();
  };
  update();
  return make('div', { class: 'card' }, make('h3', {}, 'A tensor on each worker'),
    make('p', { class: 'note' }, `Steps ${steps[0]} to ${steps[steps.length - 1]}, on one logarithmic scale.`),
    make('div', { class: 'controls' }, chooser('Tensor', layers.map((layer) => layer.tensor), set('layer'), state.layer),
      chooser('Measure', statistics.map(nameOfStatistic), set('statistic'))), charts);
}

function drawWorkers(place) {
  place.append(...[workersTable(), drawSpread(), drawCharts()].filter(Boolean));
}
