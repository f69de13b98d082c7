// The steps of findings, and the curve of the culprit tensor.

function drawTimeline(place) {
  if (!report.rules.length) return;
  const card = make('div', { class: 'card' }, make('h3', {}, 'Steps with findings'));
  place.append(card);
  drawLanes(card, {
    ...report.steps,
    lanes: report.rules.map((rule, number) => {
      const isLook = rule.level === 'worth_a_look';
      return {
        label: rule.rule, badge: String(number + 1), href: `#finding-${number + 1}`, isLook, count: rule.count, steps: rule.steps,
        what: isLook ? 'times worth a look' : 'findings',
      };
    }),
  });
}

// Returns the saved curve of a tensor, or one of its statistics: the evaluated one, if the finding's
// value identifies it.
function curveOf(finding) {
  for (const chart of report.charts) {
    const lines = chart.lines.filter((line) => line.tensor === finding.tensor && line.worker === finding.worker);
    const isEvaluated = lines.some((line) => isClose(line.values[line.steps.indexOf(finding.step)], finding.value));
    if (lines.length) return { what: finding.tensor, yTitle: '', lines: lines.map(toLine), isEvaluated };
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
  const name = nameOfStatistic(layers.statistics[chosen]);
  const saved = layers.steps.map((_, i) => i).filter((i) => numbers[chosen][i] !== null);
  const line = { label: name, colour: 0, dash: null, x: saved.map((i) => layers.steps[i]), y: saved.map((i) => numbers[chosen][i]) };
  return { what: `${finding.tensor}: ${name}`, yTitle: name, lines: [line], isEvaluated: evaluated >= 0 };
}
function isClose(a, b) {
  return Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= 0.002 * Math.abs(b);
}

// Returns the values of a check at the steps where it fired, or null if it has no limit.
function checkOf(rule) {
  const [first] = rule.findings;
  if (!Number.isFinite(first.value) || !Number.isFinite(first.limit)) return null;
  const same = rule.findings.filter((each) => ['tensor', 'worker', 'check'].every((key) => each[key] === first[key]));
  return { ...first, steps: same.map((each) => each.step), values: same.map((each) => each.value), limits: same.map((each) => each.limit) };
}

function drawCulpritCurve(place) {
  const rule = report.rules[Number(place.dataset.rule)];
  const finding = rule.findings[0];
  const curve = finding.tensor ? curveOf(finding) : null;
  const check = curve && curve.isEvaluated ? null : checkOf(rule);
  const options = { canSwitch: false, group: STEPS, sharesZoom: false };
  if (check) drawCheck(place, check, { group: STEPS, height: curve ? 164 : 204 });
  if (!curve) return;
  drawLineChart(place, { lines: curve.lines, marks: [{ x: finding.step, label: '' }], limit: curve.isEvaluated ? finding.limit : null },
    { ...options, title: curve.what, height: check ? 164 : 204 });
}
