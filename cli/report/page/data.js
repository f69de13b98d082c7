'use strict';
// The data of the page, and what its parts share.
const report = JSON.parse(document.getElementById('data').textContent);
const STEPS = 'steps';  // the group of charts over the steps

for (const rule of report.rules || []) {
  for (const finding of rule.findings) Object.assign(finding, { value: toNumber(finding.value), limit: toNumber(finding.limit) });
}
for (const chart of report.charts) {
  for (const line of chart.lines) line.values = line.values.map(toNumber);
}
for (const layer of report.statistics ? report.statistics.layers : []) {
  layer.numbers = layer.numbers.map((ofWorker) => ofWorker.map((values) => values.map(toNumber)));
}

// Returns the first step with findings of each rule.
function firstFindings() {
  return report.rules.map((rule, number) => ({ x: rule.findings[0].step, label: String(number + 1) }));
}
