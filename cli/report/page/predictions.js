// The quality of predictions.

function drawPredictions(place) {
  drawPredictionCharts(place, report.predictions);
}
