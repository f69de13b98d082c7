// One run, or several side by side.

import { get, watch } from './api.js';
import { drawCharts } from './curves.js';
import { drawLayerMaps } from './layers.js';
import { drawFindings } from './findings.js';
import { drawRunProfile } from './profile.js';
import { drawConfigurations } from './configurations.js';

function section(id, title) {
  const place = make('div');
  const element = make('section', { id, 'aria-labelledby': `${id}-title` }, make('h2', { id: `${id}-title` }, title), place);
  return { element, place };
}

// Tells about findings that came while the page is open.
function announce(run, findings) {
  const alerts = document.getElementById('alerts');
  for (const finding of findings.filter((each) => each.status === 'finding').slice(-5)) {
    const close = make('button', { type: 'button', 'aria-label': 'Dismiss' }, '×');
    const alert = make('div', { class: 'alert' }, make('b', {}, run.name), ` ${finding.rule}, step ${finding.step}: ${finding.message}`, close);
    close.addEventListener('click', () => alert.remove());
    alerts.append(alert);
  }
  while (alerts.children.length > 5) alerts.firstChild.remove();
}

// Waits until the browser has painted.
const painted = () => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });

function drawFacts(place, run) {
  const fact = (name, value) => make('div', {}, make('dt', {}, name), make('dd', {}, value));
  place.replaceChildren(
    fact('State', run.ended ? 'finished' : run.state),
    fact('Steps', run.steps ? `${run.steps} (${run.first} to ${run.last})` : 'none'),
    fact('Evaluated', run.evaluated >= run.last ? 'all steps' : `up to step ${run.evaluated}`),
    fact('Workers', String(run.workers.length)), fact('Tensors', String(run.tensors)),
    fact('Modes', Object.entries(run.modes).map(([mode, count]) => `${mode} ${count}`).join(', ') || 'none'),
    fact('Path', make('code', {}, run.path)));
}

export function showRuns(place, ids) {
  let stop = () => {};
  let isGone = false;
  const parts = [];
  const failed = make('p', { class: 'note bad', role: 'alert' });
  place.append(failed);

  async function begin() {
    const runs = await Promise.all(ids.map((id) => get('/api/run', runQuery(id, ids.length))));
    if (isGone) return;
    document.title = `${runs.map((run) => run.name).join(', ')} · smdebug`;
    place.append(make('h1', {}, runs.map((run) => run.name).join(', ')));
    const heads = runs.map((run) => {
      const box = make('div');
      const facts = make('dl', { class: 'facts' });
      place.append(box);
      if (runs.length === 1) {
        place.append(facts);
        drawFacts(facts, run);
      }
      return { box, facts, findings: drawFindings(box, run, runs.length > 1) };
    });
    const curves = section('curves', 'Losses and metrics');
    const layers = section('layers', 'Layers over the steps');
    const profile = section('profile', 'Where the time goes');
    const hasProfile = runs.length === 1 && runs[0].profile;
    const configurations = section('configurations', runs.length > 1 ? 'What differs' : 'Configuration');
    place.append(curves.element, ...(runs.some((run) => run.groups.length) ? [layers.element] : []),
      ...(hasProfile ? [profile.element] : []), configurations.element);
    const charts = await drawCharts(curves.place, runs);
    if (isGone) return charts.destroy();
    parts.push(charts);
    await painted();  // the curves come first
    if (isGone) return undefined;
    const maps = runs.filter((run) => run.groups.length).map((run) => drawLayerMaps(layers.place, run, runs.length > 1));
    parts.push(...maps, drawConfigurations(configurations.place, runs));
    if (hasProfile) parts.push(drawRunProfile(profile.place, runs[0]));

    const from = runs.map((run) => run.cursor).join(',');
    stop = watch({ runs: ids, series: charts.series(), from }, (event) => {
      for (const news of event.runs) {
        const i = ids.indexOf(news.id);
        const run = runs[i];
        Object.assign(run, { steps: news.steps, last: news.last, ended: news.ended, evaluated: news.evaluated, count: news.count });
        if (news.findings) {
          run.findings.push(...news.findings);
          run.causes = news.causes;
          announce(run, news.findings);
          const count = runs.reduce((sum, each) => sum + each.count, 0);
          document.title = `${count ? `(${count}) ` : ''}${runs.map((each) => each.name).join(', ')} · smdebug`;
        }
        drawFacts(heads[i].facts, run);
        heads[i].findings.update(run);
        if (news.series) {
          charts.append(i, news);
          maps.forEach((map) => map.run === run && map.grow());
        }
        if (news.findings) charts.mark();
      }
    });
    return undefined;
  }
  begin().catch((error) => { failed.textContent = error.message; });
  return () => {
    isGone = true;
    stop();
    parts.forEach((part) => part.destroy && part.destroy());
  };
}
