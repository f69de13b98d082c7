// The configurations of runs: what differs between them, and how it goes with the loss.

import { get } from './api.js';

const MOST_AXES = 10;

const numberOf = (text) => (text !== undefined && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : null);

// Draws a line a run across one axis for each number that differs; the last axis is the loss.
function drawParallel(place, runs, keys, configurations) {
  // What the library records by itself is no hyper-parameter.
  const axes = keys.filter((key) => !/^(run\.|collection |workers$)/.test(key)).map((key) => ({ title: key, values: configurations.map((each) => numberOf(each[key])) }))
    .filter((axis) => axis.values.filter((value) => value !== null).length > 1 && new Set(axis.values).size > 1).slice(0, MOST_AXES);
  const losses = runs.map((run) => (run.loss === null ? null : toNumber(run.loss)));
  if (losses.filter(Number.isFinite).length > 1) axes.push({ title: 'last loss', values: losses });
  if (axes.length < 2) return;
  const [width, height, top, bottom] = [Math.max(axes.length * 150, 420), 260, 34, 236];
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Parallel coordinates of ${axes.map((axis) => axis.title).join(', ')}` });
  const at = (i) => 70 + (i * (width - 140)) / (axes.length - 1);
  axes.forEach((axis, i) => {
    const seen = axis.values.filter((value) => value !== null && Number.isFinite(value));
    const isLog = seen.every((value) => value > 0) && Math.max(...seen) > 20 * Math.min(...seen);
    axis.scale = makeScale(seen, bottom, top, { isLog });
    svg.append(makeSvg('line', { class: 'axis', x1: at(i), x2: at(i), y1: top, y2: bottom }),
      makeSvg('text', { x: at(i), y: 16, 'text-anchor': 'middle' }, shortened(axis.title.replace(/^hyperparameter /, ''), 22)));
    for (const tick of axis.scale.ticks(5)) svg.append(makeSvg('text', { x: at(i) + 5, y: axis.scale(tick) + 4 }, formatNumber(tick)));
  });
  runs.forEach((run, number) => {
    let path = '';
    axes.forEach((axis, i) => {
      const value = axis.values[number];
      if (value !== null && axis.scale.has(value)) path += `${path ? 'L' : 'M'}${at(i)} ${axis.scale(value).toFixed(1)}`;
    });
    svg.append(makeSvg('path', { class: `curve s${number % 8}`, d: path }, makeSvg('title', {}, run.name)));
  });
  place.append(make('div', { class: 'card' }, make('h3', {}, 'Numbers that differ, and the loss'),
    make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Parallel coordinates' }, make('figure', { class: 'parallel' }, svg)),
    make('div', { class: 'legend' }, ...runs.map((run, i) => make('span', {}, lineSample({ colour: i, dash: null }), run.name)))));
}

export function drawConfigurations(place, runs) {
  async function load() {
    const configurations = await Promise.all(runs.map((run) => get('/api/configuration', { id: run.id })));
    const keys = [...new Set(configurations.flatMap(Object.keys))].sort();
    const shown = runs.length > 1 ? keys.filter((key) => new Set(configurations.map((each) => each[key])).size > 1) : keys;
    if (runs.length > 1) drawParallel(place, runs, shown, configurations);
    const table = make('table', { class: runs.length > 2 ? 'wide' : null },
      make('thead', {}, make('tr', {}, make('th', {}, 'Setting'), ...runs.map((run) => make('th', { scope: 'col' }, run.name)))),
      make('tbody', {}, ...shown.map((key) => make('tr', {}, make('th', { scope: 'row' }, key), ...configurations.map((each) => make('td', {}, each[key] ?? '–'))))));
    const same = keys.length - shown.length;
    const scroller = make('div', { class: 'card' }, make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Settings' }, table));
    if (runs.length > 1) {
      place.append(make('p', { class: 'note' }, shown.length ? `${countText(same, 'setting')} are equal in all runs.` : 'All settings are equal.'), ...(shown.length ? [scroller] : []));
    } else {
      place.append(make('details', {}, make('summary', {}, countText(keys.length, 'setting')), scroller));
    }
  }
  load().catch((error) => place.append(make('p', { class: 'note bad' }, error.message)));
  return { destroy() {} };
}
