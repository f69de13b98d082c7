// Statistics of layers: a heat map and small multiples.

// Returns the selectable groups: collections with some of the layers, without duplicates.
function groupsOf(layers) {
  const members = new Map();
  for (const layer of layers) {
    for (const collection of layer.collections) members.set(collection, [...(members.get(collection) || []), layer]);
  }
  const all = [{ name: `all ${layers.length}`, layers }];
  for (const [name, some] of members) {
    if (some.length < layers.length) all.push({ name: `${name} (${some.length})`, key: name, layers: some });
  }
  return all;
}
// Returns the initial group: that of the culprit, else gradients, else weights.
function firstGroup(all) {
  const culprit = report.rules.length ? report.rules[0].findings[0].tensor : null;
  const byCulprit = all.findIndex((group, i) => i > 0 && group.layers.some((layer) => layer.tensor === culprit));
  if (byCulprit > 0) return byCulprit;
  for (const key of ['gradients', 'weights']) {
    const found = all.findIndex((group) => group.key === key);
    if (found > 0) return found;
  }
  return 0;
}

// Returns the steps of the statistics, and their texts, as the data of a heat map.
function stepsOfLayers() {
  const { steps, modes, mode_steps: modeSteps } = report.statistics;
  return { x: steps, labels: steps.map((step, i) => formatStep(step, modes[i], modeSteps[i])) };
}
const numbersOf = (layer, worker, statistic) => (layer.numbers[worker] && layer.numbers[worker][statistic]) || [];

// ---- small multiples ----

const MULTIPLES_AT_ONCE = 24;

function drawMultiple(place, layer, worker, statistic, scale, title = layer.tensor) {
  const y = numbersOf(layer, worker, statistic);
  return drawSparkline(place, { x: y.length ? report.statistics.steps : [], y, marks: layer.found }, { title, scale });
}

function drawMultiples(place, layers, worker, statistic, isShared) {
  const byFindings = (a, b) => (b.found.length > 0) - (a.found.length > 0);
  const ordered = [...layers].sort(byFindings);
  const scale = isShared ? sparklineScale(layers.flatMap((layer) => numbersOf(layer, worker, statistic))) : null;
  const grid = make('div', { class: 'multiples' });
  const more = make('button', { type: 'button', class: 'more' });
  let shown = 0;
  const showMore = () => {
    for (const layer of ordered.slice(shown, shown + MULTIPLES_AT_ONCE)) drawMultiple(grid, layer, worker, statistic, scale);
    shown = Math.min(shown + MULTIPLES_AT_ONCE, ordered.length);
    more.textContent = `Show more (${ordered.length - shown} left)`;
    more.hidden = shown === ordered.length;
  };
  more.addEventListener('click', showMore);
  showMore();
  place.replaceChildren(grid, more);
}

// ---- names that are searched for ----

// Returns sentences about tensors with `part` in their names that the heat map does not show, or "".
// `others` is the number of those in other groups.
function elsewhere(part, others) {
  const { hidden, hidden_count: count } = report.statistics;
  const sentences = [];
  if (others) sentences.push(`Of all tensors, ${others} more have it: choose another group.`);
  const matching = hidden.filter((name) => name.toLowerCase().includes(part));
  if (matching.length) {
    const some = matching.slice(0, 5).join(', ');
    sentences.push(`This report leaves out ${countText(matching.length, 'tensor')} with it: ${some}${matching.length > 5 ? ', …' : ''}.`);
  }
  const unnamed = count - hidden.length;
  if (unnamed > 0) sentences.push(`It leaves out ${countText(unnamed, 'tensor')} whose names are not searched.`);
  return sentences.join(' ');
}

// ---- both ----

function drawLayers(place) {
  const { layers, statistics, workers } = report.statistics;
  const all = groupsOf(layers);
  const state = { group: firstGroup(all), statistic: Math.max(0, statistics.indexOf('l2')), worker: 0, filter: '', isShared: true };
  const multiples = make('div');
  const none = make('p', { class: 'note', role: 'status' });
  const mapPlace = make('div');
  const curvePlace = make('div', { class: 'chosen' });
  const steps = stepsOfLayers();
  let chosen = [];
  const matches = (layer) => layer.tensor.toLowerCase().includes(state.filter);
  const rowsOf = () => chosen.map((layer) => ({ label: layer.tensor, values: numbersOf(layer, state.worker, state.statistic), marks: layer.found }));

  function drawChosen({ row }) {
    const layer = chosen[row];
    const name = nameOfStatistic(statistics[state.statistic]);
    const line = { label: name, colour: 0, dash: null, x: steps.x, y: numbersOf(layer, state.worker, state.statistic) };
    curvePlace.replaceChildren();
    const marks = layer.found.length ? [{ x: steps.x[layer.found[0]], label: '' }] : [];
    drawLineChart(curvePlace, { lines: [line], marks }, { title: layer.tensor, yTitle: name, height: 190, group: STEPS });
  }
  const select = (filter) => all[state.group].layers.filter(filter);
  chosen = select(matches);
  const map = drawHeatMap(mapPlace, { ...steps, rows: rowsOf() }, { label: 'Heat map of layers over the steps', group: STEPS, onSelect: drawChosen });

  function update() {
    chosen = select(matches);
    const others = all[0].layers.filter((layer) => matches(layer) && !chosen.includes(layer)).length;
    const absent = state.filter ? elsewhere(state.filter, others) : '';
    none.textContent = [chosen.length ? '' : 'No tensor shown here has this in its name.', absent].filter(Boolean).join(' ');
    mapPlace.hidden = chosen.length === 0;
    curvePlace.replaceChildren();
    if (chosen.length) map.update({ ...steps, rows: rowsOf() });
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
      all.length > 1 ? chooser('Tensors', all.map((group) => group.name), set('group'), state.group) : null,
      workers.length > 1 ? chooser('Worker', workers, set('worker')) : null,
      make('label', {}, 'Find', search)),
    none, mapPlace, curvePlace,
    make('div', { class: 'controls apart' }, make('h3', {}, 'One by one'), checkbox('one scale for all', true, set('isShared'))), multiples));
  update();
}
