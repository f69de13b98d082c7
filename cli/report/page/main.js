// Draws each part of the page in its place.

const timeline = document.getElementById('timeline');
if (timeline) drawTimeline(timeline);
document.querySelectorAll('.culprit-curve').forEach(drawCulpritCurve);
const PARTS = {
  curves: drawCurves, profile: drawProfile, layers: drawLayers, histograms: drawHistograms, workers: drawWorkers,
  booster: drawBooster, predictions: drawPredictions,
};
for (const place of document.querySelectorAll('[data-part]')) PARTS[place.dataset.part](place);
