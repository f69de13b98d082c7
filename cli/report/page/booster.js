// Features and trees.

function drawBooster(place) {
  drawBoosterCharts(place, report.booster, { group: STEPS });
}
