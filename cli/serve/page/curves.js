// Losses and metrics of one run or of several, growing.

import { get, numbers, settled } from './api.js';
import { firstOfRules } from './findings.js';

const MOST_CHARTS = 24;
const MOST_SERIES = 64;
const MOST_WORKERS = 4;
const PIXELS = 900;  // a chart is at most so wide; zooming reads details
const MOST_GROWN = 6000;  // points that came by events, before they are read again, thinned
const GROUP = 'steps';
const TENSOR_DASHES = [null, '6 3', '1.5 3', '8 3 2 3'];
const MODES = { T: 'TRAIN', E: 'EVAL', P: 'PREDICT', G: 'GLOBAL' };

// Returns the request for a run and the lines of its first charts; of several runs, a chart has no line for each worker.
export const runQuery = (id, count) => ({ id, pixels: PIXELS, workers: count === 1 ? MOST_WORKERS : 1 });

// Returns [{title, series: [{run, tensor, worker}]}], losses first.  The server says which curves share a chart.
function chartsOf(runs) {
  const charts = new Map();
  for (const isLoss of [true, false]) {
    runs.forEach((run, i) => {
      for (const curve of run.curves.filter((each) => each.is_loss === isLoss)) {
        if (!charts.has(curve.measure)) charts.set(curve.measure, { title: curve.measure, series: [] });
        const chart = charts.get(curve.measure);
        const workers = run.workers.length > 1 && runs.length === 1 ? run.workers.slice(0, MOST_WORKERS) : [''];
        for (const worker of workers) chart.series.push({ run: i, tensor: curve.tensor, worker, measure: 'mean' });
      }
    });
  }
  return [...charts.values()];
}

// ---- what the horizontal axis shows ----

// Returns the function that maps steps to seconds, from samples.
function byTime({ steps, seconds }, begin) {
  return (step) => {
    const i = lowerBound(steps, step);
    if (i === 0 || !steps.length) return steps.length ? seconds[0] - begin : step;
    if (i === steps.length) return seconds[i - 1] - begin;
    const share = (step - steps[i - 1]) / (steps[i] - steps[i - 1]);
    return seconds[i - 1] + share * (seconds[i] - seconds[i - 1]) - begin;
  };
}

const unitOf = (seconds) => (seconds > 7200 ? ['hours', 3600] : seconds > 300 ? ['minutes', 60] : ['seconds', 1]);

// Axes that need more data read it when they are chosen: each returns {title, of: (run, step) => number}.
const AXES = {
  step: async () => ({ title: 'step', of: (run, step) => step }),
  'relative time': (runs) => timeAxis(runs, true),
  'wall time': (runs) => timeAxis(runs, false),
  epoch: async (runs) => {
    const points = await Promise.all(runs.map(async (run) => {
      const lines = run.epochs ? (await get('/api/series', { id: run.id, tensor: run.epochs, pixels: 4000 })).lines : [];
      return lines.length ? lines[0].points : { steps: [], values: [] };
    }));
    return {
      title: 'epoch',
      of: (run, step) => {
        const i = lowerBound(points[run].steps, step + 1) - 1;
        return i < 0 ? 0 : Number(points[run].values[i]);
      },
    };
  },
};
async function timeAxis(runs, isRelative) {
  const times = await Promise.all(runs.map((run) => get('/api/times', { id: run.id, tensor: run.curves[0].tensor, pixels: 2000 })));
  const begins = times.map((each) => each.seconds[0] ?? Infinity);
  const first = Math.min(...begins);
  const longest = Math.max(...times.map((each, i) => (each.seconds[each.seconds.length - 1] ?? 0) - (isRelative ? begins[i] : first)));
  const [unit, size] = unitOf(longest);
  const maps = times.map((each, i) => byTime(each, isRelative ? begins[i] : first));
  const since = new Date(first * 1000).toISOString().replace('T', ' ').slice(0, 19);
  return { title: isRelative ? `${unit} since the run's first step` : `${unit} since ${since} UTC`, of: (run, step) => maps[run](step) / size };
}

// ---- charts ----

// What the user has chosen, which outlives charts that are drawn anew.
export const choices = () => ({ axis: 'step', weight: 0, range: null });

// Returns {series(): those of the charts on the screen, onSeries(call): calls it when these are others, append(run, news),
// reread(), mark(), destroy()}.
export async function drawCharts(place, runs, chosen = choices()) {
  runs.forEach((run) => { run.epochs = (run.curves.find((each) => /^(scalar\/)?epoch$/.test(each.tensor)) || {}).tensor; });
  const charts = chartsOf(runs);
  const shown = charts.slice(0, MOST_CHARTS);
  const all = [];  // the series of all charts, in the order of the events' numbers
  let { weight } = chosen;
  const grid = make('div', { class: 'grid' });
  const note = make('p', { class: 'note' });
  const axes = Object.keys(AXES).filter((name) => name === 'step' || (name === 'epoch' ? runs.every((run) => run.epochs) : runs.every((run) => run.curves.length)));
  if (!axes.includes(chosen.axis)) chosen.axis = 'step';
  let axis = await AXES[chosen.axis](runs);
  place.append(make('div', { class: 'controls' },
    chooser('Horizontal axis', axes, choose, axes.indexOf(chosen.axis)),
    slider('Smoothing', 0.99, 0.01, smooth, weight),
    make('span', { class: 'hint' }, 'Drag over a chart to zoom; double click shows all. Dotted lines mark the first finding of each rule.')), grid, note);
  if (charts.length > shown.length) note.textContent = `${countText(charts.length - shown.length, 'more chart')} are not shown.`;
  if (!charts.length) note.textContent = 'No loss or metric was recorded.';

  const marksOf = (chart) => (axis.title !== 'step' ? [] : runs.flatMap((run, r) => (!chart.series.some((each) => each.run === r) ? [] :
    [...firstOfRules(run.findings).values()].map((step, i) => (runs.length === 1 ? { x: step, label: String(i + 1) } : { x: step, label: '', colour: r })))));
  const dataOf = (chart) => ({
    lines: chart.lines.map((line, _, lines) => ({
      label: labelOfLine(line, lines), colour: line.colour, dash: line.dash, y: line.y,
      x: axis.title === 'step' ? line.steps : line.steps.map((step) => axis.of(line.series.run, step)),
      ...(line.smooth && weight > 0 ? { weight, smooth: line.smooth } : {}),
    })),
    marks: marksOf(chart),
  });
  function toLines(chart, series, answer) {
    return answer.lines.map((line) => ({
      series, run: runs.length > 1 ? runs[series.run].name : '', tensor: series.tensor, mode: line.mode, worker: series.worker,
      colour: runs.length > 1 ? series.run : chart.series.indexOf(series) + (line.mode === 'EVAL' && chart.series.length === 1 ? 1 : 0),
      dash: runs.length > 1 ? dashOf(chart, series, line.mode) : DASHES[line.mode], steps: line.points.steps, y: numbers(line.points.values), smooth: line.smooth ? numbers(line.smooth) : null,
      isWhole: line.count === line.points.steps.length,
    }));
  }
  // Of several runs, the colour tells the run, so that the dash tells its tensors apart.
  function dashOf(chart, series, mode) {
    const tensors = [...new Set(chart.series.map((each) => each.tensor))];
    return tensors.length > 1 ? TENSOR_DASHES[tensors.indexOf(series.tensor) % TENSOR_DASHES.length] : DASHES[mode];
  }
  // Returns the lines that came with the run, once.
  function takeFirst({ run, tensor, worker }) {
    const curve = runs[run].curves.find((each) => each.tensor === tensor);
    const i = (curve.series ?? []).findIndex((each) => each.worker === worker);
    return i < 0 ? null : curve.series.splice(i, 1)[0];
  }
  // Reads the lines of a chart; within a zoomed range, in detail.
  async function read(chart) {
    const query = { pixels: PIXELS, smooth: weight || null };
    const wanted = chart.series.filter((each) => all.includes(each));
    const ask = (series) => takeFirst(series) ?? get('/api/series', { id: runs[series.run].id, tensor: series.tensor, worker: series.worker, ...query });
    const arrived = [];  // by events meanwhile
    chart.arrived = arrived;
    try {
      const answers = await Promise.all(wanted.map(ask));
      answers.forEach((answer, i) => { wanted[i].last = answer.last; });
      chart.lines = answers.flatMap((answer, i) => toLines(chart, wanted[i], answer));
      chart.grown = 0;
      arrived.forEach(([series, points]) => appendTo(chart, series, points));
    } finally {
      if (chart.arrived === arrived) chart.arrived = null;
    }
    if (chart.range) await refine(chart);
  }
  // Replaces the part of each line that is on the screen by one with all details.
  async function refine(chart) {
    if (axis.title !== 'step' || !chart.range) return;
    const [first, end] = [Math.max(0, Math.floor(chart.range[0])), Math.ceil(chart.range[1]) + 1];
    const thinned = new Set(chart.lines.filter((line) => !line.isWhole).map((line) => line.series));
    const fine = await Promise.all([...thinned].map(async (series) => {
      const query = { id: runs[series.run].id, tensor: series.tensor, worker: series.worker, first, end, pixels: PIXELS, smooth: weight || null };
      return toLines(chart, series, await get('/api/series', query));
    }));
    for (const line of chart.lines) {
      const part = fine.flat().find((each) => each.series === line.series && each.mode === line.mode);
      if (!part) continue;
      const [from, to] = [lowerBound(line.steps, first), lowerBound(line.steps, end)];
      const splice = (whole, middle) => [...whole.slice(0, from), ...middle, ...whole.slice(to)];
      line.y = splice(line.y, part.y);
      if (line.smooth && part.smooth) line.smooth = splice(line.smooth, part.smooth);
      line.steps = splice(line.steps, part.steps);
    }
  }
  async function choose(i) {
    try {
      axis = await AXES[axes[i]](runs);
      chosen.axis = axes[i];
      shown.forEach((chart) => chart.drawn.destroy());
      shown.forEach(draw);
    } catch (error) {
      note.textContent = error.message;
    }
  }
  let reading = Promise.resolve();
  function smooth(next) {
    weight = chosen.weight = next;
    // The server averages all points, also those that are not drawn.
    const isThinned = shown.some((chart) => chart.lines.some((line) => !line.isWhole));
    const apply = () => shown.forEach((chart) => {
      chart.drawn.update(dataOf(chart));
      chart.drawn.smooth(weight);
    });
    if (!isThinned) {
      shown.forEach((chart) => chart.lines.forEach((line) => { line.smooth = null; }));
      return apply();
    }
    reading = reading.then(() => (weight === next ? Promise.all(shown.map(read)).then(apply) : null)).catch((error) => { note.textContent = error.message; });
    return undefined;
  }
  const detail = settled((range) => {
    for (const each of shown) {
      (range ? refine(each) : read(each)).then(() => each.drawn.update(dataOf(each))).catch((error) => { note.textContent = error.message; });
    }
  });
  function draw(chart) {
    chart.drawn = drawLineChart(chart.card, dataOf(chart), {
      title: chart.title, xTitle: axis.title, group: axis.title === 'step' ? GROUP : 'time',
      titleOf: axis.title === 'step' ? undefined : (x) => `${formatNumber(x)} ${axis.title.split(' ')[0]}`,
      onZoom: (range) => {
        chosen.range = range;
        shown.forEach((each) => { each.range = range; });
        detail(range);
      },
    });
    if (weight > 0) chart.drawn.smooth(weight);
    if (chart.range) chart.drawn.zoom(chart.range);
  }

  for (const chart of shown) {
    Object.assign(chart, { lines: [], arrived: null, isSeen: true, isBehind: false, range: chosen.axis === 'step' ? chosen.range : null });
    for (const series of chart.series) {
      if (all.length < MOST_SERIES) all.push(series);
    }
  }
  await Promise.all(shown.map(async (chart) => {
    chart.card = make('div', { class: 'card' });
    grid.append(chart.card);
    await read(chart);
    draw(chart);
  }));

  function appendTo(chart, series, points) {
    points.steps.forEach((step, i) => {
      if (step <= series.last) return;
      const mode = MODES[points.modes[i]];
      let line = chart.lines.find((each) => each.series === series && each.mode === mode);
      if (!line) {
        [line] = toLines(chart, series, { lines: [{ mode, count: 0, points: { steps: [], values: [] } }] });
        chart.lines.push(line);
      }
      const value = toNumber(points.values[i]);
      line.steps.push(step);
      line.y.push(value);
      if (line.smooth) {
        const before = line.smooth.findLast(Number.isFinite) ?? value;
        line.smooth.push(Number.isFinite(value) ? before * weight + value * (1 - weight) : value);
      }
    });
    if (points.steps.length) series.last = Math.max(series.last, points.steps[points.steps.length - 1]);
    chart.grown += points.steps.length;
  }
  const fail = (error) => { note.textContent = error.message; };
  const reread = (chart) => read(chart).then(() => chart.drawn.update(dataOf(chart))).catch(fail);

  // Charts that are not on the screen do not grow; they are read again when they come there.
  let sent = all;
  let onSeries = () => {};
  const follow = settled(() => {
    const next = all.filter((series) => shown.some((chart) => chart.isSeen && chart.series.includes(series)));
    if (next.length === sent.length && next.every((each, i) => each === sent[i])) return;
    const added = shown.filter((chart) => chart.isBehind && chart.isSeen);
    shown.forEach((chart) => { chart.isBehind = !chart.isSeen; });
    sent = next;
    onSeries();
    added.forEach(reread);  // after the events' begin, so that no step is missing
  });
  const places = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) shown.find((chart) => chart.card === target).isSeen = isIntersecting;
    follow();
  }, { rootMargin: '200px' });

  return {
    series: () => sent.map(({ run, worker, measure, tensor }) => ({ run, worker, measure, tensor })),
    onSeries(call) {
      onSeries = call;
      shown.forEach((chart) => places.observe(chart.card));
    },
    append(run, news) {
      const changed = new Set();
      for (const { s, again, points } of news.series) {
        const series = sent[s];
        const chart = shown.find((each) => each.series.includes(series));
        if (chart.arrived) chart.arrived.push([series, points]);
        else if (!again) appendTo(chart, series, points);
        if (again || chart.grown > MOST_GROWN) chart.grown = Infinity;
        if (again || points.steps.length) changed.add(chart);
      }
      for (const chart of changed) {
        if (chart.grown !== Infinity) chart.drawn.update(dataOf(chart));
        else reread(chart);
      }
    },
    reread: () => shown.forEach(reread),
    mark: () => shown.forEach((chart) => chart.drawn.update(dataOf(chart))),
    destroy() {
      places.disconnect();
      shown.forEach((chart) => chart.drawn && chart.drawn.destroy());
    },
  };
}
