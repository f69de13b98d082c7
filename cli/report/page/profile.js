// Where the time of the job's steps goes.

function drawProfile(place) {
  const chart = report.charts.find((each) => each.is_loss);
  drawProfileCharts(place, report.profile, chart ? { title: chart.title, lines: chart.lines.map(toLine) } : null, STEPS);
}
