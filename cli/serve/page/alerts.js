// Tells about findings that came while the page is open.

import { addressOf } from './address.js';

const MOST = 4;
const counts = new Map();  // of each run's findings since its alert was dismissed

// Shows an alert about a finding {rule, step, message} of a run {id, name}; `more` others came with it.  A run has one alert,
// about its last finding: more would cover the page.
export function alertOf(run, finding, more = 0) {
  const alerts = document.getElementById('alerts');
  const id = `alert-${run.id}`;
  const others = (counts.get(id) ?? 0) + more;
  const close = make('button', { type: 'button', 'aria-label': 'Dismiss' }, '×');
  const alert = make('div', { class: 'alert', id }, make('a', { href: addressOf([run.id]) }, run.name),
    ` ${finding.rule}, step ${finding.step}: ${finding.message}${others > 0 ? `, and ${countText(others, 'more finding')}` : ''}`, close);
  const forget = (element) => {
    counts.delete(element.id);
    element.remove();
  };
  close.addEventListener('click', () => forget(alert));
  document.getElementById(id)?.remove();
  counts.set(id, others + 1);
  alerts.append(alert);
  while (alerts.children.length > MOST) forget(alerts.firstChild);
}

// Returns a function that takes the rows of a list, again and again, and alerts of what was found in steps that were
// recorded since it has first seen a run.
export function rowAlerts() {
  const seen = new Map();
  return (rows) => {
    for (const row of rows) {
      const kinds = row.summary ? row.summary.kinds : 0;
      const before = seen.get(row.id);
      if (!before) {
        seen.set(row.id, { kinds, step: row.last_step });
        continue;
      }
      // Another job took its place.
      if (row.last_step < before.step) before.step = -1;
      if (kinds > before.kinds && row.summary.latest.step > before.step) alertOf(row, row.summary.latest, kinds - before.kinds - 1);
      before.kinds = kinds;
    }
  };
}
