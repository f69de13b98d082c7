// Where the time of the job's steps goes: the parts of steps, flame charts, the machine's metrics.

const SECONDS = 'seconds';  // the group of charts over the time of the job
const MOST_LINES = 16;
const METRICS = {
  CPUUtilization: 'Use of cores', 'I/OWaitPercentage': 'Cores that wait for input and output', GPUUtilization: 'Use of GPUs',
  GPUMemoryUtilization: 'Use of the memory of GPUs', MemoryUsedPercent: 'Use of memory', Network: 'Network', Disk: 'Disk',
  ResidentBytes: 'Memory of the process', CoreWaitPercentage: 'Waits of the process for a core',
};
// Parts of a step and categories of events have the same names; others, such as whole steps, have the last colour.
function colourOf(profile, span) {
  const part = profile.parts.indexOf(span.category);
  return part < 0 ? FILLS - 1 : Math.min(part, FILLS - 1);
}
const hasNumbers = (worker) => worker.step.every((step, i) => step >= 0 && (i === 0 || step > worker.step[i - 1]));

function drawPhases(card, { workers, parts, exclusive }, stepGroup) {
  const place = make('div');
  const show = (i) => {
    place.replaceChildren();
    const worker = workers[i];
    const isNumbered = hasNumbers(worker);
    const all = parts.slice(0, exclusive).map((label, part) => ({ label, colour: part, y: worker.parts[part] }));
    const areas = all.filter((area) => area.y.some((value) => value > 0));
    drawStackedAreas(place, { x: isNumbered ? worker.step : worker.step.map((_, k) => k), areas }, {
      title: 'Parts over the steps', yTitle: 'ms', unit: 'ms', xTitle: isNumbered ? 'step' : 'place of the step in the profile',
      group: isNumbered ? stepGroup : '', titleOf: (x) => `step ${formatWhole(x)}`,
    });
  };
  if (workers.length > 1) card.append(make('div', { class: 'controls' }, chooser('Worker', workers.map((worker) => worker.name), show)));
  card.append(place);
  show(0);
}

function drawFlames(grid, profile) {
  for (const flame of profile.flames) {
    const card = make('div', { class: 'card' });
    grid.append(card);
    const step = flame.step < 0 ? '' : ` (step ${flame.step})`;
    const spans = flame.spans.map((span) => ({ ...span, colour: colourOf(profile, span) }));
    drawFlameChart(card, { length: flame.length, spans }, { title: `${flame.title[0].toUpperCase()}${flame.title.slice(1)}${step}: ${formatNumber(flame.length)} ms` });
  }
}

// Returns the steps of a line as seconds since the beginning of the profile, as far as the profile knows them.
function overTime(line, worker, begin) {
  const [first, last] = [worker.step[0], worker.step[worker.step.length - 1]];
  const x = [];
  const y = [];
  line.x.forEach((step, i) => {
    if (step < first || step > last) return;
    const k = Math.min(Math.max(lowerBound(worker.step, step), 1), worker.step.length - 1);
    const part = (step - worker.step[k - 1]) / (worker.step[k] - worker.step[k - 1]);
    x.push(worker.time[k - 1] + (worker.time[k] - worker.time[k - 1]) * part - begin);
    y.push(line.y[i]);
  });
  return { ...line, x, y };
}
function lossOverTime(profile, loss) {
  const worker = profile.workers.find((each) => hasNumbers(each) && each.step.length > 1);
  if (!worker || !loss) return null;
  const lines = loss.lines.map((line) => overTime(line, worker, profile.begin)).filter((line) => line.x.length > 1);
  return lines.length ? { title: loss.title, lines } : null;
}

function drawMetrics(card, profile, ofSteps) {
  const { series, begin, end } = profile;
  const options = {
    xTitle: 's since the beginning of the profile', titleOf: (x) => `${formatNumber(x)} s`, height: 174, canSwitch: false, group: SECONDS, ends: [0, end - begin], leastLeft: 60,
  };
  const loss = lossOverTime(profile, ofSteps);
  if (loss) drawLineChart(card, { lines: loss.lines }, { ...options, title: `${loss.title} over the time` });
  for (const metric of [...new Set(series.map((each) => each.metric))]) {
    const lines = series.filter((each) => each.metric === metric).map((each, i) => ({
      label: `${each.node} ${each.name}`, colour: i, dash: null, x: each.time.map((time) => time - begin), y: each.mean.map(toNumber),
    }));
    drawLineChart(card, { lines: lines.slice(0, MOST_LINES), hidden: Math.max(lines.length - MOST_LINES, 0) },
      { ...options, title: METRICS[metric] || metric, yTitle: ['Network', 'Disk', 'ResidentBytes'].includes(metric) ? '' : '%' });
  }
}

// Draws what smd_profile_rules_charts() returns.  `loss`, which may be null, is {title, lines} over the steps; charts over
// steps join `stepGroup`.
function drawProfileCharts(place, profile, loss, stepGroup) {
  const { workers, flames, series } = profile;
  const card = (draw) => {
    const added = make('div', { class: 'card long' });
    place.append(added);
    draw(added);
  };
  if (workers.length) card((added) => drawPhases(added, profile, stepGroup));
  drawFlames(place, profile);
  if (series.length) card((added) => drawMetrics(added, profile, loss));
  if (!workers.length && !flames.length && !series.length) place.append(make('p', { class: 'note' }, 'The profile holds neither steps nor samples of the machine.'));
}
