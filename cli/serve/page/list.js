// The list of runs.

import { addressOf, go } from './address.js';
import { get, watch } from './api.js';
import { rowAlerts } from './alerts.js';

const COLUMNS = [
  { key: 'name', title: 'Run' },
  { key: 'state', title: 'State' },
  { key: 'steps', title: 'Steps', isNumber: true, descends: true },
  { key: 'loss', title: 'Last loss', isNumber: true },
  { key: 'findings', title: 'Findings', descends: true },
  { key: 'workers', title: 'Workers', isNumber: true, descends: true },
  { key: 'age', title: 'Last step', descends: true },
];
const ROWS = 50;
const MOST_CHOSEN = 16;

// Returns "12 s ago".
export function ageText(seconds) {
  if (seconds === null) return '';
  for (const [unit, size] of [['d', 86400], ['h', 3600], ['min', 60]]) {
    if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit} ago`;
  }
  return `${Math.round(seconds)} s ago`;
}

function findingsCell(summary, row) {
  if (!summary) return make('td', { class: 'count' }, row.steps ? 'not evaluated yet' : '');
  if (summary.findings === 0) {
    const isDone = summary.evaluated >= row.last_step;
    return make('td', {}, make('span', { class: isDone ? 'status good' : 'status idle' }, isDone ? '✓ none' : `none up to step ${summary.evaluated}`));
  }
  return make('td', {}, make('span', { class: 'badge' }, String(summary.findings)), ` ${summary.cause || summary.rule}`);
}

function rowOf(row, chosen, onChoose) {
  const { summary } = row;
  const box = make('input', { type: 'checkbox', 'aria-label': `Select ${row.name}` });
  box.checked = chosen.has(row.id);
  box.addEventListener('change', () => onChoose(row.id, box));
  const loss = summary && summary.loss !== null ? toNumber(summary.loss) : null;
  return make('tr', { 'data-id': row.id, class: row.state },
    make('td', {}, box),
    make('th', { scope: 'row' }, make('a', { href: addressOf([row.id]), title: row.path }, row.name)),
    make('td', { title: row.problem || null }, make('span', { class: `state ${row.state}` }, row.state)),
    make('td', { class: 'number' }, String(row.steps)),
    make('td', { class: 'number loss' }, make('div', {}, loss === null ? '' : make('span', { title: summary.loss_name }, formatNumber(loss)),
      summary && summary.sparkline.length > 1 ? tinySparkline(summary.sparkline.map(toNumber)) : null)),
    findingsCell(summary, row),
    make('td', { class: 'number' }, String(row.workers)),
    make('td', {}, ageText(row.age)));
}

export function showList(place) {
  const state = { regex: '', sort: 'age', descends: true, first: 0 };
  const chosen = new Set();
  const tell = rowAlerts();
  let request = null;
  const search = make('input', { type: 'search', placeholder: 'regular expression', size: 24, 'aria-label': 'Filter by name' });
  const compare = make('button', { type: 'button', disabled: '' }, 'Compare');
  const count = make('span', { class: 'hint', role: 'status' });
  const problems = make('p', { class: 'note bad' });
  const heads = COLUMNS.map((column) => {
    const button = make('button', { type: 'button', class: 'sort' }, column.title);
    button.addEventListener('click', () => {
      state.descends = state.sort === column.key ? !state.descends : Boolean(column.descends);
      Object.assign(state, { sort: column.key, first: 0 });
      load();
    });
    return make('th', { scope: 'col', class: column.isNumber ? 'number' : null }, button);
  });
  const body = make('tbody');
  const earlier = make('button', { type: 'button' }, 'Previous');
  const later = make('button', { type: 'button' }, 'Next');
  place.append(make('h1', {}, 'Runs'),
    make('div', { class: 'controls' }, make('label', {}, 'Filter', search), compare, count), problems,
    make('div', { class: 'card' }, make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Runs' },
      make('table', { class: 'list wide' }, make('thead', {}, make('tr', {}, make('th', {}, make('span', { class: 'hidden' }, 'Selected')), ...heads)), body))),
    make('div', { class: 'controls' }, earlier, later));

  function onChoose(id, box) {
    if (box.checked && chosen.size >= MOST_CHOSEN) box.checked = false;
    box.checked ? chosen.add(id) : chosen.delete(id);
    compare.disabled = chosen.size === 0;
    compare.textContent = chosen.size > 1 ? `Compare ${chosen.size} runs` : 'Compare';
  }
  function fill(answer) {
    tell(answer.rows);
    problems.replaceChildren(...answer.problems.flatMap((problem) => [problem, make('br')]));
    const ranked = answer.ranked < answer.matching ? `; ${answer.ranked} of them are evaluated so far, the others come last` : '';
    count.textContent = (answer.matching === answer.all ? countText(answer.all, 'run') : `${answer.matching} of ${countText(answer.all, 'run')}`) + ranked;
    // Rows that did not change stay, so that the keyboard keeps its place.
    const known = new Map([...body.children].map((row) => [row.dataset.id, row]));
    body.replaceChildren(...answer.rows.map((row) => {
      const text = JSON.stringify(row);
      const old = known.get(row.id);
      if (old && old.text === text) return old;
      const hasFocus = old && old.contains(document.activeElement) ? document.activeElement.tagName : null;
      const made = Object.assign(rowOf(row, chosen, onChoose), { text });
      if (hasFocus) requestAnimationFrame(() => made.querySelector(hasFocus.toLowerCase()).focus());
      return made;
    }));
    if (!answer.rows.length) body.append(make('tr', {}, make('td', { colspan: 8 }, answer.all ? 'No run matches.' : 'There is no run yet.')));
    heads.forEach((head, i) => {
      const isSorted = COLUMNS[i].key === state.sort;
      isSorted ? head.setAttribute('aria-sort', state.descends ? 'descending' : 'ascending') : head.removeAttribute('aria-sort');
    });
    earlier.hidden = state.first === 0;
    later.hidden = state.first + ROWS >= answer.matching;
  }
  async function load() {
    if (request) request.abort();
    request = new AbortController();
    const query = { regex: state.regex || null, sort: state.sort, order: state.descends ? 'descending' : 'ascending', first: state.first, count: ROWS };
    try {
      fill(await get('/api/runs', query, request.signal));
    } catch (error) {
      if (error.name !== 'AbortError') problems.textContent = error.message;
    }
  }
  search.addEventListener('input', () => {
    Object.assign(state, { regex: search.value, first: 0 });
    load();
  });
  compare.addEventListener('click', () => { go(addressOf([...chosen])); });
  earlier.addEventListener('click', () => { state.first = Math.max(0, state.first - ROWS); load(); });
  later.addEventListener('click', () => { state.first += ROWS; load(); });
  load();
  const watched = watch({ list: true }, load);
  const timer = setInterval(load, 10000);  // ages, and the wish for summaries
  return () => {
    watched.end();
    clearInterval(timer);
  };
}
