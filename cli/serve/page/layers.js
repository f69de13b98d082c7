// Layers over the steps as a heat map, and what belongs to one of its cells.

import { get, numbers, settled } from './api.js';

const MEASURES = ['l2', 'abs_mean', 'abs_max', 'std', 'mean', 'min', 'max'];
const ROWS = 40;
const COLUMNS = 300;
const MOST_RELATED = 6;
const MOST_ASKED = 40; // whose names have its name in them
const MOST_WORKERS = 8;
const BETWEEN_READS = 3000;  // ms, while a run grows
const GROUP = 'steps';

// Returns the name that a weight, its gradient and its update share.
export function baseOf(tensor) {
  return tensor.replace(/^(gradients?|updates?|weights?|optimizer)\//, '').replace(/^(smdebug\/)/, '');
}

// Returns the function that maps a step to its column: if the server has merged steps, several have the same one.
function columnsOf({ rows, first, end, columns }) {
  if (!rows.some((row) => row.merged)) return (step) => step;
  return (step) => Math.min(Math.max(Math.floor(((step - first) / (end - first)) * columns), 0), columns - 1);
}

// Returns true if a value stands for a column rather than another one.
const outweighs = (value, other) => other === null || (Number.isFinite(other) && !(Math.abs(value) <= Math.abs(other)));

// Merges rows with steps of their own into one table.  Each row has `steps`, of its values.
export function toTable(answer) {
  const columnOf = columnsOf(answer);
  const last = new Map();  // the last step of each column
  for (const { steps } of answer.rows) steps.forEach((step) => last.set(columnOf(step), Math.max(step, last.get(columnOf(step)) ?? step)));
  const x = [...last.values()].sort((a, b) => a - b);
  const places = new Map(x.map((step, i) => [columnOf(step), i]));
  return {
    x, labels: x.map((step) => `step ${step}`),
    rows: answer.rows.map((row) => {
      const values = new Array(x.length).fill(null);
      const steps = [...x];
      row.steps.forEach((step, i) => {
        const place = places.get(columnOf(step));
        const value = toNumber(row.values[i]);
        if (outweighs(value, values[place])) [values[place], steps[place]] = [value, step];
      });
      const found = row.found.filter((step) => step >= answer.first && step < answer.end).map((step) => places.get(columnOf(step)));
      return { label: row.tensor, values, steps, labels: steps.map((step) => `step ${step}`), marks: [...new Set(found)].filter((i) => i !== undefined) };
    }),
  };
}

function histogramOf(value, title) {
  const { least, most, counts, odd, sampled } = value.histogram;
  const place = make('div');
  if (sampled === odd) return make('p', { class: 'note' }, 'No element is finite.');
  if (least === most) return make('p', { class: 'note' }, `All finite elements are ${formatNumber(toNumber(least))}.`);
  const edges = Array.from({ length: counts.length + 1 }, (_, i) => least + ((most - least) * i) / counts.length);
  drawRidges(place, { edges, unit: 0, rows: [{ step: title, counts, odd, is_found: false }] }, { label: `Histogram of ${title}` });
  return place;
}

const MOST_ROWS = 12;
const MOST_COLUMNS = 12;

function valueText(value) {
  if (Array.isArray(value)) return value.join(' + i ');
  const isText = typeof value === 'string' && Number.isNaN(Number(value)) && value !== 'NaN';
  return isText ? value : formatNumber(Number(value));
}

// Shows the first values of each row; a tensor of one axis fills rows one after another.
function valuesTable(cell) {
  const { shape, values, elements } = cell.value;
  const stride = shape.length > 1 ? Math.max(shape[shape.length - 1], 1) : 8;
  const width = Math.min(stride, MOST_COLUMNS);
  const rows = [];
  for (let at = 0; at < values.length && rows.length < MOST_ROWS; at += stride) {
    const row = values.slice(at, Math.min(at + width, at + stride));
    rows.push(make('tr', {}, make('th', { scope: 'row' }, String(at)), ...row.map((value) => make('td', { class: 'number' }, valueText(value)))));
  }
  const shown = rows.reduce((sum, row) => sum + row.children.length - 1, 0);
  const text = `${cell.value.dtype}, ${shape.length ? shape.join(' × ') : 'scalar'}`;
  const rest = shown < elements ? make('p', { class: 'note' }, `${shown} of ${countText(elements, 'element')}; each row begins with the number of its first. `,
    make('code', {}, 'smdebug show'), ' prints all.') : null;
  return make('div', {}, make('h4', {}, `Values: ${text}`),
    make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Values' }, make('table', { class: 'values' }, make('tbody', {}, ...rows))), rest);
}

function statisticsOf(cell) {
  const names = Object.entries(cell.statistics);
  return make('dl', { class: 'facts' }, ...names.map(([name, value]) => make('div', {}, make('dt', {}, nameOfStatistic(name)), make('dd', {}, formatNumber(toNumber(value))))));
}

// Returns the difference between the largest and the smallest worker at steps that all have.
function spreadOf(lines) {
  const maps = lines.map((line) => new Map(line.x.map((step, i) => [step, line.y[i]])));
  const x = lines[0].x.filter((step) => maps.every((map) => map.has(step)));
  return { x, y: x.map((step) => Math.max(...maps.map((map) => map.get(step))) - Math.min(...maps.map((map) => map.get(step)))) };
}

// Returns {run, grow(), destroy()}.
export function drawLayerMaps(place, run, isNamed) {
  const groupsOf = () => [...run.groups.map((each) => ({ name: each.name, title: `${each.name || 'in no collection'} (${each.tensors})` })), { name: '*', title: 'all' }];
  const firstGroup = groupsOf().find((each) => each.name === 'gradients') ?? groupsOf()[0];
  const state = { measure: 'l2', group: firstGroup.name, text: '', worker: '', from: 0, range: null };
  const note = make('p', { class: 'note', role: 'status' });
  const mapPlace = make('div');
  const cellPlace = make('div', { class: 'cell', 'aria-live': 'polite' });
  const earlier = make('button', { type: 'button' }, 'Previous tensors');
  const later = make('button', { type: 'button' }, 'Next tensors');
  const search = make('input', { type: 'search', placeholder: 'part of a name', size: 16, 'aria-label': 'Find tensors' });
  let map = null;
  let request = null;
  let table = { x: [], labels: [], rows: [] };
  let readAt = 0;
  let timer = null;
  let drawn = [];
  let isOnScreen = true;
  let hasGrown = false; // since it was read

  const lineOf = (answer, label, colour) => {
    const points = answer.lines.flatMap((line) => line.points.steps.map((step, i) => [step, toNumber(line.points.values[i])])).sort((a, b) => a[0] - b[0]);
    return { label, colour, dash: null, x: points.map((each) => each[0]), y: points.map((each) => each[1]) };
  };
  const seriesOf = (tensor, worker) => get('/api/series', { id: run.id, tensor, worker, measure: state.measure, pixels: 600 });

  // Shows the tensor's curve, its histogram and values at the step, what belongs to it, and its workers.
  async function select({ row, column }) {
    const tensor = table.rows[row].label;
    const step = table.rows[row].steps[column];
    cellPlace.replaceChildren(make('p', { class: 'note' }, `Reading ${tensor} …`));
    const [cell, curve, related] = await Promise.all([
      get('/api/cell', { id: run.id, tensor, step, worker: state.worker }), seriesOf(tensor, state.worker),
      get('/api/heat', { id: run.id, group: '*', text: baseOf(tensor), measure: state.measure, columns: 200, count: MOST_ASKED, worker: state.worker }),
    ]);
    drawn.forEach((each) => each.destroy());
    drawn = [];
    const chart = (parent, lines, title) => drawn.push(drawLineChart(parent, { lines, marks: [{ x: step, label: '' }] }, { title, yTitle: nameOfStatistic(state.measure), height: 190, group: GROUP }));
    const grid = make('div', { class: 'grid' });
    cellPlace.replaceChildren(make('h3', {}, `${tensor}, ${formatStep(cell.step, cell.mode, cell.mode_step)}`), statisticsOf(cell), grid);
    const card = () => {
      const made = make('div', { class: 'card' });
      grid.append(made);
      return made;
    };
    chart(card(), [lineOf(curve, tensor, 0)], tensor);
    if (cell.value && cell.value.histogram) card().append(make('h4', {}, `Histogram at step ${step}`), histogramOf(cell.value, String(step)));
    if (cell.value && cell.value.histogram) {
      const over = await get('/api/histograms', { id: run.id, tensor, step, worker: state.worker });
      if (over.rows.length > 1) {
        const place = card();
        place.append(make('h4', {}, 'Histograms over the steps'));
        drawn.push(drawRidges(place, { ...over, edges: numbers(over.edges) }, { label: `Histograms of ${tensor} at ${countText(over.rows.length, 'step')}`, xTitle: 'value of an element' }));
        place.append(make('p', { class: 'note' }, 'Early steps are behind, late steps in front.'));
      }
    }
    if (cell.value) card().append(valuesTable(cell));
    else card().append(make('p', { class: 'note' }, 'The values were not saved at this step.'));
    // "0.weight" is in the name "10.weight", too.
    const others = related.rows.filter((each) => each.tensor !== tensor && baseOf(each.tensor) === baseOf(tensor)).slice(0, MOST_RELATED);
    // Each on a scale of its own: a weight is far larger than its gradient.
    others.forEach((each, i) => chart(card(), [{ label: each.tensor, colour: i + 1, dash: null, x: each.steps, y: numbers(each.values) }], each.tensor));
    if (cell.workers.length > 1) {
      const workers = cell.workers.slice(0, MOST_WORKERS);
      const answers = await Promise.all(workers.map((worker) => seriesOf(tensor, worker)));
      const lines = answers.map((answer, i) => lineOf(answer, workers[i], i));
      chart(card(), lines, 'Workers side by side');
      chart(card(), [{ label: 'largest minus smallest', colour: 0, dash: null, ...spreadOf(lines) }], 'Difference between the workers');
    }
  }
  const onSelect = (cell) => select(cell).catch((error) => { cellPlace.replaceChildren(make('p', { class: 'note bad' }, error.message)); });

  function fill(answer) {
    table = toTable(answer);
    const isSampled = answer.rows.some((row) => row.sampled);
    const end = Math.min(state.from + answer.rows.length, answer.all);
    note.textContent = answer.all === 0 ? 'No tensor matches.'
      : `Tensors ${state.from + 1} to ${end} of ${answer.all}; a logarithmic scale.${isSampled ? ' Each column shows one of its steps; drag over the map to see all of fewer.' : ''} A click on a cell shows more.`;
    earlier.hidden = state.from === 0;
    later.hidden = end >= answer.all;
    mapPlace.hidden = table.rows.length === 0 || table.x.length === 0;
    if (mapPlace.hidden) return;
    if (map) map.update(table);
    else map = drawHeatMap(mapPlace, table, { label: `Heat map of layers over the steps of ${run.name}`, group: GROUP, onSelect, onZoom });
    if (state.range) map.zoom(state.range);
  }
  async function load() {
    if (request) request.abort();
    request = new AbortController();
    readAt = performance.now();
    hasGrown = false;
    const { range } = state;
    const query = {
      id: run.id, group: state.group, text: state.text || null, measure: state.measure, worker: state.worker, columns: COLUMNS, from: state.from, count: ROWS,
      ...(range ? { first: Math.max(0, Math.floor(range[0])), end: Math.ceil(range[1]) + 1 } : {}),
    };
    try {
      fill(await get('/api/heat', query, request.signal));
    } catch (error) {
      if (error.name !== 'AbortError') note.textContent = error.message;
    }
  }
  const detail = settled(load);
  function onZoom(range) {
    state.range = range;
    detail();
  }
  const set = (name, values) => (i) => {
    Object.assign(state, { [name]: values[i], from: 0 });
    load();
  };
  search.addEventListener('input', () => {
    Object.assign(state, { text: search.value, from: 0 });
    load();
  });
  earlier.addEventListener('click', () => { state.from = Math.max(0, state.from - ROWS); load(); });
  later.addEventListener('click', () => { state.from += ROWS; load(); });
  const groupPlace = make('div', { class: 'choice' });
  function chooseGroup() {
    const groups = groupsOf();
    const at = Math.max(0, groups.findIndex((each) => each.name === state.group));
    groupPlace.replaceChildren(chooser('Tensors', groups.map((each) => each.title), set('group', groups.map((each) => each.name)), at));
  }
  chooseGroup();
  const card = make('div', { class: 'card long' }, isNamed ? make('h3', {}, run.name) : null,
    make('div', { class: 'controls' },
      chooser('Measure', MEASURES.map(nameOfStatistic), set('measure', MEASURES)),
      groupPlace,
      run.workers.length > 1 ? chooser('Worker', ['first', ...run.workers], set('worker', ['', ...run.workers])) : null,
      make('label', {}, 'Find', search), earlier, later), note, mapPlace, cellPlace);
  place.append(card);
  const observer = new IntersectionObserver((entries) => {
    isOnScreen = entries[entries.length - 1].isIntersecting;
    if (isOnScreen && hasGrown && !state.range) load();
  });
  observer.observe(card);
  load();
  return {
    run,
    // The run's groups have changed.
    regroup() {
      chooseGroup();
      this.grow();
    },
    // Steps were added: reads them, unless the user looks at a part or the map is not on the screen.
    grow() {
      hasGrown = true;
      if (timer || state.range || !isOnScreen) return;
      timer = setTimeout(() => {
        timer = null;
        load();
      }, Math.max(0, readAt + BETWEEN_READS - performance.now()));
    },
    destroy() {
      clearTimeout(timer);
      observer.disconnect();
      drawn.forEach((each) => each.destroy());
      if (map) map.destroy();
    },
  };
}
