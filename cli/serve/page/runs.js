// One run, or several side by side.

import { get, settled, watch } from './api.js';
import { alertOf } from './alerts.js';
import { choices, drawCharts, runQuery } from './curves.js';
import { drawLayerMaps } from './layers.js';
import { drawFindings } from './findings.js';
import { drawRunProfile } from './profile.js';
import { OUTCOMES, drawOutcome } from './outcome.js';
import { drawConfigurations } from './configurations.js';

function section(id, title) {
  const place = make('div');
  const element = make('section', { id, 'aria-labelledby': `${id}-title` }, make('h2', { id: `${id}-title` }, title), place);
  return { element, place };
}

// The runs that the page was sent with; used once, as they grow.
let first = JSON.parse(document.getElementById('first').textContent);
function takeFirst(ids) {
  const runs = first;
  first = [];
  return runs.length === ids.length && runs.every((run, i) => run.id === ids[i]) ? runs : null;
}

// Waits until the browser has painted, and has time.
const whenIdle = window.requestIdleCallback ?? setTimeout;  // Safari has none
const painted = () => new Promise((resolve) => { requestAnimationFrame(() => whenIdle(resolve, { timeout: 100 })); });

function durationOf(run) {
  const seconds = Math.max(0, (run.state === 'running' && !run.ended ? Date.now() / 1000 : run.last_time) - run.begun);
  const parts = [[Math.floor(seconds / 3600), 'h'], [Math.floor(seconds / 60) % 60, 'min'], [Math.floor(seconds) % 60, 's']];
  const first = Math.max(0, parts.findIndex(([count]) => count > 0));
  return (seconds < 1 ? ['under 1 s'] : parts.slice(first, first + 2).map((part) => part.join(' '))).join(' ');
}

function drawFacts(place, run) {
  const fact = (name, value) => make('div', {}, make('dt', {}, name), make('dd', {}, value));
  const ending = run.failure ? 'failed' : 'finished';
  const state = run.ended ? ending : run.state;
  place.replaceChildren(
    fact('State', make('span', { class: `state ${state}` }, state)),
    ...(run.failure ? [fact('Failure', run.failure)] : []),
    fact('Steps', run.steps ? `${run.steps} (${run.first} to ${run.last})` : 'none'),
    fact('Evaluated', run.evaluated >= run.last ? 'all steps' : `up to step ${run.evaluated}`),
    ...(run.begun > 0 ? [fact('Begun', new Date(run.begun * 1000).toISOString().replace('T', ' ').slice(0, 19) + ' UTC'), fact('Duration', durationOf(run))] : []),
    fact('Workers', String(run.workers.length)), fact('Tensors', String(run.tensors)),
    fact('Modes', Object.entries(run.modes).map(([mode, count]) => `${mode} ${count}`).join(', ') || 'none'),
    fact('Path', make('code', {}, run.path)),
    fact('Report', make('a', { href: `/api/report?id=${run.id}`, download: '' }, 'save as one file')));
}

// `restart()` is called when another job has taken the place of one.
export function showRuns(place, ids, restart) {
  let watched = null;
  let isGone = false;
  const parts = [];
  const failed = make('p', { class: 'note bad', role: 'alert' });
  place.append(failed);

  async function begin() {
    const runs = takeFirst(ids) ?? await Promise.all(ids.map((id) => get('/api/run', runQuery(id, ids.length))));
    if (isGone) return;
    document.title = `${runs.map((run) => run.name).join(', ')} · smdebug`;
    place.append(make('h1', {}, runs.map((run) => run.name).join(', ')));
    const heads = runs.map((run, i) => {
      const box = make('div');
      const facts = make('dl', { class: 'facts' });
      place.append(box);
      if (runs.length === 1) {
        place.append(facts);
        drawFacts(facts, run);
      }
      return { box, facts, findings: drawFindings(box, run, runs.length > 1, i) };
    });
    const curves = section('curves', 'Losses and metrics');
    const layers = section('layers', 'Layers over the steps');
    const profile = section('profile', 'Where the time goes');
    const outcomes = runs.length > 1 ? [] : Object.keys(OUTCOMES).map((name) => [name, section(name, OUTCOMES[name].title)]);
    const hasProfile = runs.length === 1 && runs[0].profile;
    const configurations = section('configurations', runs.length > 1 ? 'What differs' : 'Configuration');
    layers.element.hidden = !runs.some((run) => run.groups.length);
    place.append(curves.element, layers.element, ...outcomes.map(([, { element }]) => element), ...(hasProfile ? [profile.element] : []), configurations.element);
    outcomes.forEach(([, { element }]) => { element.hidden = true; });
    const chosen = choices();
    let charts = await drawCharts(curves.place, runs, chosen);
    if (isGone) return charts.destroy();
    await painted();  // the curves come first
    if (isGone) return charts.destroy();
    const maps = new Map();
    function drawMaps() {
      for (const run of runs) {
        if (maps.has(run)) maps.get(run).regroup();
        else if (run.groups.length) maps.set(run, drawLayerMaps(layers.place, run, runs.length > 1));
      }
      layers.element.hidden = maps.size === 0;
    }
    drawMaps();
    parts.push(drawConfigurations(configurations.place, runs), { destroy: () => [charts, ...maps.values()].forEach((part) => part.destroy()) });
    const drawnOutcomes = outcomes.map(([name, each]) => drawOutcome(each, runs[0], name));
    parts.push(...drawnOutcomes, ...heads.map((head) => head.findings));
    if (hasProfile) parts.push(drawRunProfile(profile.place, runs[0]));

    // Reads what a run has, anew: tensors may come late, as the loss of a validation.
    let isRenewing = false;
    const renew = settled(async () => {
      if (isRenewing) return renew();
      isRenewing = true;
      try {
        const namesOf = () => JSON.stringify(runs.map((run) => [run.workers, run.curves.map((each) => each.tensor)]));
        const before = namesOf();
        const now = await Promise.all(ids.map((id) => get('/api/run', runQuery(id, ids.length))));
        if (isGone) return undefined;
        failed.textContent = '';
        now.forEach(({ curves: lines, groups, tensors, workers, rules, begun, last_time, booster, predictions }, i) => {
          Object.assign(runs[i], { curves: lines, groups, tensors, workers, rules, begun, last_time, booster, predictions });
          drawFacts(heads[i].facts, runs[i]);
          heads[i].findings.update(runs[i]);
        });
        drawMaps();
        drawnOutcomes.forEach((each) => each.grow());
        if (namesOf() === before) return undefined;
        const fresh = make('div');
        const next = await drawCharts(fresh, runs, chosen);
        if (isGone) return next.destroy();
        charts.destroy();
        charts = next;
        curves.place.replaceChildren(fresh);
        charts.onSeries(() => watched.change(charts.series()));
        watched.change(charts.series());
        charts.reread();  // after the events' begin, so that no step is missing
      } catch (error) {
        failed.textContent = error.message;
      } finally {
        isRenewing = false;
      }
      return undefined;
    });

    const opened = runs.map((run) => run.last);  // what was recorded before is no news
    const from = runs.map((run) => run.cursor).join(',');
    watched = watch({ runs: ids, series: charts.series(), from }, (event) => {
      if (event.runs.some((news) => news.again)) return restart();
      for (const news of event.runs) {
        const i = ids.indexOf(news.id);
        const run = runs[i];
        const isOther = (news.tensors >= 0 && news.tensors !== run.tensors) || news.ended !== run.ended;
        Object.assign(run, { steps: news.steps, last: news.last, ended: news.ended, failure: news.failure, evaluated: news.evaluated, count: news.count, modes: news.modes });
        if (isOther) renew();
        if (news.findings) {
          run.findings.push(...news.findings);
          run.causes = news.causes;
          news.findings.filter((each) => each.status === 'finding' && each.step > opened[i]).forEach((each) => alertOf(run, each));
          const count = runs.reduce((sum, each) => sum + each.count, 0);
          document.title = `${count ? `(${count}) ` : ''}${runs.map((each) => each.name).join(', ')} · smdebug`;
        }
        drawFacts(heads[i].facts, run);
        heads[i].findings.update(run);
        if (news.series) {
          charts.append(i, news);
          if (maps.has(run)) maps.get(run).grow();
          drawnOutcomes.forEach((each) => each.grow());
        }
        if (news.findings) charts.mark();
      }
      return undefined;
    });
    charts.onSeries(() => watched.change(charts.series()));
    return undefined;
  }
  begin().catch((error) => { failed.textContent = error.message; });
  return () => {
    isGone = true;
    if (watched) watched.end();
    parts.forEach((part) => part.destroy && part.destroy());
  };
}
