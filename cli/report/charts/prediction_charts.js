// The quality of predictions.

// Data: {step, count, confusion, roc, residuals}: what is not known is missing.
function drawPredictionCharts(element, data) {
  const figure = make('div');
  element.append(figure);
  function update({ step, count, confusion, roc, residuals }) {
    const grid = make('div', { class: 'grid' });
    function card(title, ...notes) {
      const made = make('div', { class: 'card' }, make('h3', {}, title), ...notes);
      grid.append(made);
      return made;
    }
    if (confusion) {
      const note = make('p', { class: 'note' }, 'Rows are labels, columns are predictions; colours show shares of a row.');
      drawConfusionMatrix(card('Confusion matrix', note), confusion);
    }
    if (roc.length) drawRoc(card('ROC'), { curves: roc });
    if (residuals) {
      const place = card('Residuals');
      drawResiduals(place, residuals);
      const fact = (name, value) => make('div', {}, make('dt', {}, name), make('dd', {}, formatNumber(value)));
      place.append(make('dl', { class: 'facts' }, fact('Root mean square', residuals.rms), fact('Mean absolute', residuals.mean_absolute), fact('Bias', residuals.bias)));
    }
    figure.replaceChildren(make('p', { class: 'note' }, `Step ${step}, ${count} predictions.`), grid);
  }
  update(data);
  return { figure, update, destroy: () => figure.remove() };
}
