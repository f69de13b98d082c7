// Draws statistics of layers: a heat map and small multiples.

const NAMES = {
  l2: 'l2 norm', l1: 'l1 norm', abs_l1: 'l1 norm', abs_mean: 'mean of |x|', abs_max: 'largest |x|', std: 'standard deviation',
  abs_median: 'median of |x|',
};
const nameOfStatistic = (name) => NAMES[name] || name;

// Returns the selectable groups: collections with some of the layers, without duplicates.
function groupsOf(layers) {
  const groups = new Map();
  for (const layer of layers) {
    for (const collection of layer.collections) groups.set(collection, [...(groups.get(collection) || []), layer]);
  }
  const all = [{ name: `all ${layers.length}`, layers }];
  for (const [name, members] of groups) {
    if (members.length < layers.length) all.push({ name: `${name} (${members.length})`, key: name, layers: members });
  }
  return all;
}
// Returns the initial group: that of the culprit, else gradients, else weights.
function firstGroup(groups) {
  const culprit = report.rules.length ? report.rules[0].findings[0].tensor : null;
  const byCulprit = groups.findIndex((group, i) => i > 0 && group.layers.some((layer) => layer.tensor === culprit));
  if (byCulprit > 0) return byCulprit;
  for (const key of ['gradients', 'weights']) {
    const found = groups.findIndex((group) => group.key === key);
    if (found > 0) return found;
  }
  return 0;
}

function columnsOfSteps() {
  const { steps, modes, mode_steps: modeSteps } = report.statistics;
  return steps.map((step, i) => ({ step, short: `step ${step}`, label: formatStep(step, modes[i], modeSteps[i]) }));
}
const numbersOf = (layer, worker, statistic) => (layer.numbers[worker] && layer.numbers[worker][statistic]) || [];

// ---- small multiples ----

const MULTIPLES_AT_ONCE = 24;

function multiplePath(values, x, y) {
  return linePath({ steps: values.map((_, i) => i), values }, x, y);
}
function drawMultiple(layer, worker, statistic, scale) {
  const values = numbersOf(layer, worker, statistic).map((value) => (value === null ? NaN : Math.abs(value)));
  const x = makeScale([0, Math.max(values.length - 1, 1)], 2, 198);
  const y = scale || makeScale(values, 48, 6, { isLog: true });
  const svg = makeSvg('svg', { viewBox: '0 0 200 52', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  for (const [first, last] of stretchesOf(layer.found)) {
    svg.append(makeSvg('rect', { class: 'band', x: x(first - 0.5), width: Math.max(x(last + 0.5) - x(first - 0.5), 2), y: 0, height: 52 }));
  }
  svg.append(makeSvg('path', { class: 's0', d: multiplePath(values, x, y) }));
  numbersOf(layer, worker, statistic).forEach((value, column) => {
    if (value !== null && !Number.isFinite(value)) svg.append(makeSvg('line', { class: 'odd', x1: x(column), x2: x(column), y1: 1, y2: 8 }));
    if (value === 0) svg.append(makeSvg('line', { class: 'axis', x1: x(column), x2: x(column), y1: 46, y2: 52 }));
  });
  const saved = numbersOf(layer, worker, statistic).filter((value) => value !== null);
  const [from, to] = [saved[0], saved[saved.length - 1]].map(formatNumber);
  const figure = make('figure', { role: 'img', 'aria-label': `${layer.tensor}: from ${from} to ${to}`, class: layer.found.length ? 'found' : null },
    make('figcaption', { title: layer.tensor }, shortened(layer.tensor, 26)), svg,
    make('div', { class: 'range' }, make('span', {}, from), make('span', {}, `→ ${to}`)));
  return figure;
}

function drawMultiples(place, layers, worker, statistic, isShared) {
  const byFindings = (a, b) => (b.found.length > 0) - (a.found.length > 0);
  const ordered = [...layers].sort(byFindings);
  const all = layers.flatMap((layer) => numbersOf(layer, worker, statistic)).map((value) => (value === null ? NaN : Math.abs(value)));
  const scale = isShared ? makeScale(all, 48, 6, { isLog: true }) : null;
  const grid = make('div', { class: 'multiples' });
  const more = make('button', { type: 'button', class: 'more' });
  let shown = 0;
  const showMore = () => {
    for (const layer of ordered.slice(shown, shown + MULTIPLES_AT_ONCE)) grid.append(drawMultiple(layer, worker, statistic, scale));
    shown = Math.min(shown + MULTIPLES_AT_ONCE, ordered.length);
    more.textContent = `Show more (${ordered.length - shown} left)`;
    more.hidden = shown === ordered.length;
  };
  more.addEventListener('click', showMore);
  showMore();
  place.replaceChildren(grid, more);
}

// ---- both ----

function drawLayers(place) {
  const { layers, statistics, workers } = report.statistics;
  const groups = groupsOf(layers);
  const state = { group: firstGroup(groups), statistic: Math.max(0, statistics.indexOf('l2')), worker: 0, filter: '', isShared: true };
  const map = heatMap('Heat map of layers over the steps', columnsOfSteps());
  const multiples = make('div');
  const none = make('p', { class: 'note', hidden: '' }, 'No tensor name contains this.');

  function update() {
    const chosen = groups[state.group].layers.filter((layer) => layer.tensor.toLowerCase().includes(state.filter));
    none.hidden = chosen.length > 0;
    map.hidden = chosen.length === 0;
    map.fill(chosen.map((layer) => ({ label: layer.tensor, values: numbersOf(layer, state.worker, state.statistic), marks: layer.found })));
    drawMultiples(multiples, chosen, state.worker, state.statistic, state.isShared);
  }
  const set = (name) => (value) => {
    state[name] = value;
    update();
  };
  const search = make('input', { type: 'search', placeholder: 'part of a name', size: 16 });
  search.addEventListener('input', () => set('filter')(search.value.toLowerCase()));
  place.append(make('div', { class: 'card long' },
    make('div', { class: 'controls' },
      chooser('Measure', statistics.map(nameOfStatistic), set('statistic'), state.statistic),
      groups.length > 1 ? chooser('Tensors', groups.map((group) => group.name), set('group'), state.group) : null,
      workers.length > 1 ? chooser('Worker', workers, set('worker')) : null,
      make('label', {}, 'Find', search)),
    map, none,
    make('div', { class: 'controls apart' }, make('h3', {}, 'One by one'), checkbox('one scale for all', true, set('isShared'))), multiples));
  update();
}
