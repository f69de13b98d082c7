// Converts the numbers of the data, then draws each part in its place.

for (const rule of report.rules) {
  for (const finding of rule.findings) Object.assign(finding, { value: toNumber(finding.value), limit: toNumber(finding.limit) });
}
for (const chart of report.charts) {
  for (const line of chart.lines) line.values = line.values.map(toNumber);
}
for (const layer of report.statistics.layers) {
  layer.numbers = layer.numbers.map((ofWorker) => ofWorker.map((values) => values.map(toNumber)));
}

drawTimeline(document.getElementById('timeline'));
document.querySelectorAll('.culprit-curve').forEach(drawCulpritCurve);
const PARTS = {
  curves: drawCurves, layers: drawLayers, histograms: drawHistograms, workers: drawWorkers, booster: drawBooster, predictions: drawPredictions,
};
for (const place of document.querySelectorAll('[data-part]')) PARTS[place.dataset.part](place);
