// Tells about findings that came while the page is open.

import { addressOf } from './address.js';

const MOST = 5;

// Adds an alert about a finding {rule, step, message} of a run {id, name}; `more` others came with it.
export function alertOf(run, finding, more = 0) {
  const alerts = document.getElementById('alerts');
  const close = make('button', { type: 'button', 'aria-label': 'Dismiss' }, '×');
  const alert = make('div', { class: 'alert' }, make('a', { href: addressOf([run.id]) }, run.name),
    ` ${finding.rule}, step ${finding.step}: ${finding.message}${more > 0 ? `, and ${countText(more, 'more finding')}` : ''}`, close);
  close.addEventListener('click', () => alert.remove());
  alerts.append(alert);
  while (alerts.children.length > MOST) alerts.firstChild.remove();
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
