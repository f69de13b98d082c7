// What rules have found in a run, and the likely causes.

import { drawChecks } from './checks.js';

const MOST = 30;

// Returns the step of the first finding of each rule, by rule, in order: the charts mark and number these.
export function firstOfRules(findings) {
  const first = new Map();
  findings.forEach((each) => each.status === 'finding' && !first.has(each.rule) && first.set(each.rule, each.step));
  return first;
}

function wordOf({ confidence }, isInSentence) {
  const word = confidence < 0.5 ? 'possible' : 'likely';
  return isInSentence ? word : word[0].toUpperCase() + word.slice(1);
}

// Returns what to do, at the first finding of a rule.
function adviceOn(finding, { findings, rules }) {
  const { advice } = rules.find((each) => each.rule === finding.rule) ?? {};
  const isFirst = findings.find((each) => each.rule === finding.rule) === finding;
  return advice && isFirst ? make('p', { class: 'advice' }, make('b', {}, 'What to do: '), advice) : null;
}

// Returns the rules that have found nothing, and those that lack tensors, by name.
function othersOf({ findings, rules }) {
  const others = rules.filter((each) => !findings.some((finding) => finding.rule === each.rule));
  const told = (title, status) => {
    const names = others.filter((each) => each.status === status).map((each) => each.rule);
    return names.length ? [make('p', { class: 'note' }, make('b', {}, `${title}: `), names.join(', '))] : [];
  };
  return [...told('Found nothing', 'passed'), ...told('Not enough data so far', 'not_enough_data'), ...told('Without matching tensors', 'no_tensors')];
}

// Returns {update(run), destroy()}.  A run's findings are short next to those of others, with `colour`, its curves'.
export function drawFindings(place, run, isShort, colour = 0) {
  const box = make('div', { class: 'headline', role: 'status' });
  const list = make('div');
  const charts = make('div');
  const summary = make('summary');
  const all = make('details', { class: 'found' }, summary, list, charts);
  const checks = isShort ? null : drawChecks(charts, run);
  place.append(box, all);
  let text = null;

  function headline({ name, causes, findings, count, evaluated, last, ended, state }) {
    const first = findings.find((each) => each.status === 'finding');
    const head = isShort ? `${name}: ` : '';
    const sample = isShort ? make('span', { class: `run r${colour % COLOURS}`, 'aria-hidden': 'true' }) : null;
    if (!first) {
      const isDone = evaluated >= last && last >= 0 && (ended || state !== 'running');
      box.className = `headline ${isDone ? 'good' : 'idle'}${isShort ? ' short' : ''}`;
      return [make('div', { class: 'sign', 'aria-hidden': 'true' }, isDone ? '✓' : '…'),
        make('div', {}, make('p', { class: 'culprit' }, sample, `${head}${isDone ? 'The rules found nothing' : 'The rules have found nothing so far'}`),
          make('p', { class: 'counts' }, last < 0 ? 'No step was recorded yet.' : `Evaluated up to step ${evaluated} of ${last}.`))];
    }
    box.className = `headline bad${isShort ? ' short' : ''}`;
    const cause = causes[0];
    const lines = cause ? [make('p', { class: 'culprit' }, sample, `${head}${wordOf(cause, isShort)} cause: ${cause.title}`), isShort ? null : make('p', {}, cause.advice)]
      : [make('p', { class: 'culprit' }, sample, `${head}${first.tensor || first.rule}`)];
    return [make('div', { class: 'sign', 'aria-hidden': 'true' }, '✕'),
      make('div', {}, ...lines, make('p', {}, `First: ${formatStep(first.step, first.mode, first.mode_step)}, ${first.rule}: ${first.message}`),
        make('p', { class: 'counts' }, countText(count, 'finding')))];
  }
  function update(next) {
    // Keeps what is selected and read aloud, unless it changes.
    const state = JSON.stringify([next.causes, next.findings.length, next.count, next.evaluated, next.last, next.ended, next.rules]);
    if (state === text) return;
    text = state;
    box.replaceChildren(...headline(next));
    all.hidden = next.findings.length === 0 && next.rules.length === 0;
    const numbers = [...firstOfRules(next.findings).keys()];
    const numberOf = (each) => (each.status === 'finding' ? make('span', { class: 'badge' }, String(numbers.indexOf(each.rule) + 1)) : '');
    const rows = next.findings.slice(0, MOST).map((each) => make('tr', {}, make('td', {}, numberOf(each)),
      make('td', {}, make('span', { class: each.status === 'finding' ? 'status bad' : 'status idle' }, each.status === 'finding' ? 'finding' : 'worth a look')),
      make('td', { class: 'rule' }, each.rule), make('td', { class: 'number' }, String(each.step)), make('td', {}, each.tensor || ''), make('td', {}, each.message, adviceOn(each, next))));
    const more = next.findings.length > MOST ? [make('p', { class: 'note' }, `and ${next.findings.length - MOST} more`)] : [];
    const title = next.findings.length ? `First findings, by rule, tensor and worker (${next.findings.length})` : 'Rules';
    const table = next.findings.length === 0 ? '' : make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': isShort ? `Findings in ${next.name}` : 'Findings' }, make('table', { class: 'wide' },
        make('thead', {}, make('tr', {}, make('th', {}, make('span', { class: 'hidden' }, 'Number')), ...['Level', 'Rule', 'Step', 'Tensor', 'Finding'].map((title) => make('th', { scope: 'col' }, title)))), make('tbody', {}, ...rows)));
    summary.replaceChildren(title);
    list.replaceChildren(table, ...more, ...othersOf(next));
    if (all.open && checks && next.findings.length) checks.grow();
  }
  all.addEventListener('toggle', () => all.open && checks && run.findings.length && checks.grow());
  update(run);
  return { update, destroy: () => checks && checks.destroy() };
}
