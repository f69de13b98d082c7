// Draws the steps of findings, and the curve of the culprit tensor.

function drawTimeline(place) {
  if (!report.rules.length) return;
  const { first, last } = report.steps;
  const share = (step) => (last > first ? (step - first) / (last - first) : 0.5) * 994;
  const lanes = make('div', { class: 'lanes' });
  report.rules.forEach((rule, number) => {
    const isLook = rule.level === 'worth_a_look';
    const what = isLook ? 'times worth a look' : 'findings';
    const lane = makeSvg('svg', {
      class: isLook ? 'lane look' : 'lane', viewBox: '0 0 1000 18', preserveAspectRatio: 'none', role: 'img',
      'aria-label': `${rule.rule}: ${rule.count} ${what}, the first at step ${rule.steps[0]}, the last at step ${rule.steps[rule.steps.length - 1]}`,
    });
    for (const step of rule.steps) {
      lane.append(makeSvg('rect', { x: share(step), y: 0, width: 6, height: 18 }, makeSvg('title', {}, `step ${step}`)));
    }
    lanes.append(make('a', { href: `#finding-${number + 1}`, class: isLook ? 'look' : null }, make('span', { class: 'badge' }, String(number + 1)), ` ${rule.rule}`), lane);
  });
  lanes.append(make('div', { class: 'ends' }, make('span', {}, `step ${first}`), make('span', {}, `step ${last}`)));
  place.append(make('div', { class: 'card' }, make('h3', {}, 'Steps with findings'), lanes));
}

// Returns the saved curve of a tensor, or one of its statistics: the evaluated one, if the finding's
// value identifies it.
function curveOf(finding) {
  for (const chart of report.charts) {
    const lines = chart.lines.filter((line) => line.tensor === finding.tensor && line.worker === finding.worker);
    const isEvaluated = lines.some((line) => isClose(line.values[line.steps.indexOf(finding.step)], finding.value));
    if (lines.length) return { what: finding.tensor, lines: lines.map(toLine), isEvaluated };
  }
  const layers = report.statistics;
  const layer = layers.layers.find((each) => each.tensor === finding.tensor);
  if (!layer) return null;
  const worker = Math.max(layers.workers.indexOf(finding.worker), 0);
  const numbers = layer.numbers[worker];
  if (!numbers || !numbers.length) return null;
  const column = layers.steps.indexOf(finding.step);
  const evaluated = numbers.findIndex((values) => isClose(values[column], finding.value));
  const chosen = evaluated < 0 ? 0 : evaluated;
  if (!numbers[chosen].some((value) => value !== null)) return null;
  const line = { label: nameOfStatistic(layers.statistics[chosen]), colour: 0, dash: null, steps: layers.steps, values: numbers[chosen] };
  return { what: `${finding.tensor}: ${nameOfStatistic(layers.statistics[chosen])}`, lines: [line], isEvaluated: evaluated >= 0 };
}
function isClose(a, b) {
  return Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= 0.002 * Math.abs(b);
}

// Returns the values of a check at the steps where it fired, or null if it has no limit.
function checkOf(rule) {
  const [first] = rule.findings;
  if (!Number.isFinite(first.value) || !Number.isFinite(first.limit)) return null;
  const same = rule.findings.filter((each) => ['tensor', 'worker', 'check', 'limit'].every((key) => each[key] === first[key]));
  const line = { label: 'value', colour: 1, dash: null, steps: same.map((each) => each.step), values: same.map((each) => each.value) };
  return { title: `${rule.rule}${first.check ? `, ${first.check}` : ''}: ${first.measure || 'value'} at each finding`, lines: [line], limit: first.limit };
}

function drawCulpritCurve(place) {
  const rule = report.rules[Number(place.dataset.rule)];
  const finding = rule.findings[0];
  const curve = finding.tensor ? curveOf(finding) : null;
  const check = curve && curve.isEvaluated ? null : checkOf(rule);
  const marks = [{ step: finding.step, label: '' }];
  if (check) place.append(lineChart({ ...check, height: curve ? 150 : 190, canSwitch: false }));
  if (!curve) return;
  place.append(lineChart({
    title: curve.what, lines: curve.lines, marks, limit: curve.isEvaluated ? finding.limit : null, height: check ? 150 : 190, canSwitch: false,
  }));
}
