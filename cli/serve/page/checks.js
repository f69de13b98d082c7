// The steps with findings of each rule, and charts of its first finding: what the check measured, and the tensor.

import { get, numbers } from './api.js';

const BETWEEN_READS = 3000;  // ms, while more is found
const GROUP = 'steps';
const HEIGHT = 174;
const PIXELS = 600;

const dataOf = ({ first }) => ({ ...first, values: numbers(first.values), limits: numbers(first.limits) });
const hasNumbers = ({ first }) => numbers([...first.values, ...first.limits]).every(Number.isFinite);

// Draws the charts of one rule.  Returns {element, update(rule), destroy()}.
function drawRule(run, rule, number) {
  const card = make('div', { class: 'card', id: `finding-${number}` }, make('h3', {}, make('span', { class: 'badge' }, String(number)), ` ${rule.rule}`));
  const failed = make('p', { class: 'note bad', role: 'status' });
  card.append(failed);
  const { curve, step } = rule.first;
  const check = hasNumbers(rule) && !(curve && curve.is_evaluated) ? drawCheck(card, dataOf(rule), { group: GROUP, height: HEIGHT }) : null;
  let chart = null;
  let isGone = false;

  async function readCurve(limit) {
    const { tensor, worker, measure } = curve;
    const { lines } = await get('/api/series', { id: run.id, tensor, worker, measure, pixels: PIXELS });
    failed.textContent = '';
    if (isGone || !lines.length) return;
    const data = {
      lines: lines.map(({ mode, points }, i) => ({ label: mode, colour: i, dash: DASHES[mode], x: points.steps, y: numbers(points.values) })),
      marks: [{ x: step, label: '' }], limit: curve.is_evaluated && Number.isFinite(limit) ? limit : null,
    };
    const title = `${tensor}${curve.is_scalar ? '' : `: ${nameOfStatistic(measure)}`}`;
    if (chart) chart.update(data);
    else chart = drawLineChart(card, data, { title, height: HEIGHT, canSwitch: false, group: GROUP, sharesZoom: false });
  }
  function update(next) {
    if (check && hasNumbers(next)) check.update(dataOf(next));
    if (curve) readCurve(toNumber(next.first.limits[0])).catch((error) => { failed.textContent = error.message; });
  }
  update(rule);
  card.hidden = !check && !curve;
  return {
    element: card, update,
    destroy() {
      isGone = true;
      if (check) check.destroy();
      if (chart) chart.destroy();
      card.remove();
    },
  };
}

// Returns {grow(), destroy()}.  Reads nothing before the first grow().
export function drawChecks(place, run) {
  const title = make('h2', {}, 'Steps with findings');
  const lanes = make('div', { class: 'card' }, title);
  const grid = make('div', { class: 'grid' });
  const failed = make('p', { class: 'note bad', role: 'status' });
  const cards = new Map();
  let drawn = null;
  let timer = null;
  let readAt = -BETWEEN_READS;
  let isGone = false;

  function draw({ first, last, rules }) {
    const rows = rules.map(({ rule, status, count, steps }, i) => {
      const isLook = status === 'worth_a_look';
      return { label: rule, badge: String(i + 1), href: `#finding-${i + 1}`, isLook, count, steps, what: isLook ? 'times worth a look' : 'findings' };
    });
    place.hidden = rows.length === 0;
    if (!rows.length) return;
    if (!drawn) place.replaceChildren(lanes, grid, failed);
    if (drawn) drawn.update({ first, last, lanes: rows });
    else drawn = drawLanes(lanes, { first, last, lanes: rows });
    // A rule that was worth a look may have findings now, and others another number.
    const keys = rules.map((rule, i) => `${i} ${rule.rule} ${rule.status}`);
    for (const [key, card] of cards) {
      if (keys.includes(key)) continue;
      card.destroy();
      cards.delete(key);
    }
    rules.forEach((rule, i) => {
      const card = cards.get(keys[i]) ?? drawRule(run, rule, i + 1);
      if (cards.has(keys[i])) card.update(rule);
      cards.set(keys[i], card);
      if (grid.children[i] !== card.element) grid.insertBefore(card.element, grid.children[i] ?? null);
    });
  }
  async function read() {
    readAt = performance.now();
    try {
      const answer = await get('/api/findings', { id: run.id });
      if (isGone) return;
      failed.textContent = '';
      draw(answer);
    } catch (error) {
      failed.textContent = error.message;
    }
  }
  return {
    grow() {
      if (timer) return;
      timer = setTimeout(() => {
        timer = null;
        read();
      }, Math.max(0, readAt + BETWEEN_READS - performance.now()));
    },
    destroy() {
      isGone = true;
      clearTimeout(timer);
      cards.forEach((card) => card.destroy());
    },
  };
}
