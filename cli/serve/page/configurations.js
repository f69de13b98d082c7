// The configurations of runs: what differs between them, and how it goes with the loss.

import { get } from './api.js';

const MOST_AXES = 10;

// Returns a number, a text, or null for what a run has not.
function valueOf(text) {
  if (text === undefined || text.trim() === '') return null;
  return Number.isFinite(Number(text)) ? Number(text) : text;
}
// Reports whether the values can stand on an axis: numbers, or few texts.
function fits(values) {
  const seen = values.filter((value) => value !== null);
  const differing = new Set(seen).size;
  return seen.length > 1 && differing > 1 && (seen.every((value) => typeof value === 'number') || differing <= MOST_TEXTS);
}

// Draws an axis for each number or text that differs; the last one is the loss.
function drawNumbers(place, runs, keys, configurations) {
  // What the library records by itself is no hyper-parameter.
  const axes = keys.filter((key) => !/^(run\.|collection |workers$)/.test(key))
    .map((key) => ({ title: key.replace(/^hyperparameter /, ''), values: configurations.map((each) => valueOf(each[key])) }))
    .filter((axis) => fits(axis.values)).slice(0, MOST_AXES);
  const losses = runs.map((run) => (run.loss === null ? null : toNumber(run.loss)));
  if (losses.filter(Number.isFinite).length > 1) axes.push({ title: 'last loss', values: losses });
  if (axes.length < 2) return;
  const card = make('div', { class: 'card' }, make('h3', {}, 'Settings and the loss'));
  place.append(card);
  drawParallel(card, axes, runs.map((run, i) => ({ label: run.name, colour: i })));
}

export function drawConfigurations(place, runs) {
  async function load() {
    const configurations = await Promise.all(runs.map((run) => get('/api/configuration', { id: run.id })));
    const keys = [...new Set(configurations.flatMap(Object.keys))].sort();
    const shown = runs.length > 1 ? keys.filter((key) => new Set(configurations.map((each) => each[key])).size > 1) : keys;
    if (runs.length > 1) drawNumbers(place, runs, shown, configurations);
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
