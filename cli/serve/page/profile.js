// Where the time of the steps of a run goes.

import { get, numbers } from './api.js';

const PIXELS = 800;

// Returns the loss over the steps, or null.
async function lossOf(run) {
  const loss = run.curves.find((each) => each.is_loss);
  if (!loss) return null;
  const { lines } = await get('/api/series', { id: run.id, tensor: loss.tensor, worker: '', measure: 'mean', pixels: PIXELS });
  return { title: loss.tensor, lines: lines.map(({ mode, points }, i) => ({ label: mode, colour: i, dash: DASHES[mode], x: points.steps, y: numbers(points.values) })) };
}

// Draws the profile as it is now; a button reads it again.
export function drawRunProfile(place, run) {
  const again = make('button', { type: 'button' }, 'Read again');
  const said = make('span', { class: 'hint', role: 'status' });
  const text = make('div');
  const charts = make('div', { class: 'drawn' });
  place.append(make('div', { class: 'controls' }, again, said), text, charts);
  let isGone = false;

  async function read() {
    again.disabled = true;
    said.textContent = 'Reading the profile…';
    try {
      const [profile, loss] = await Promise.all([get('/api/profile', { id: run.id }), lossOf(run)]);
      if (isGone) return;
      text.innerHTML = profile.findings + profile.html;  // the server has escaped what others wrote
      text.append(...profile.skipped.map((sentence) => make('p', { class: 'note' }, sentence)));
      charts.replaceChildren();
      drawProfileCharts(charts, profile.charts, loss, '');
      said.textContent = `As it was at ${new Date().toLocaleTimeString()}.`;
    } catch (error) {
      said.textContent = error.message;
    }
    again.disabled = false;
  }
  again.addEventListener('click', read);
  read();
  return { destroy() { isGone = true; } };
}
