// Draws what each worker recorded, and how much the workers differ.

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
  const groups = groupsOf(shared);
  const map = heatMap('Heat map of differences between workers over the steps', columnsOfSteps(), 'equal');
  const fill = (group) => map.fill(groups[group].layers.map((layer) => ({
    label: layer.tensor, values: steps.map((_, column) => spreadOf(layer, 0, column)), marks: layer.found,
  })));
  const first = Math.max(groups.findIndex((group) => group.key === 'weights'), 0);
  fill(first);
  return make('div', { class: 'card long' }, make('h3', {}, `Difference between workers: ${nameOfStatistic(report.statistics.statistics[0])}`),
    make('p', { class: 'note' }, '(Largest minus smallest) divided by the mean size. Weights of replicas should be equal.'),
    groups.length > 1 ? make('div', { class: 'controls' }, chooser('Tensors', groups.map((group) => group.name), fill, first)) : null, map);
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
    const all = workers.flatMap((_, worker) => numbersOf(layer, worker, state.statistic)).map((value) => (value === null ? NaN : Math.abs(value)));
    const scale = makeScale(all, 48, 6, { isLog: true });
    charts.replaceChildren(...workers.map((name, worker) => {
      const chart = drawMultiple(layer, worker, state.statistic, scale);
      chart.querySelector('figcaption').textContent = name;
      chart.setAttribute('aria-label', `${name}, ${chart.getAttribute('aria-label')}`);
      return chart;
    }));
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
