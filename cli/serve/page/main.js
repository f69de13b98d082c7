// Shows the part of the page that the address names.

import { idsOfAddress, onAddress } from './address.js';
import { showList } from './list.js';
import { showRuns } from './runs.js';

const content = document.getElementById('content');
let leave = null;

function show() {
  if (leave) leave();
  content.replaceChildren();
  document.title = 'smdebug';
  const ids = idsOfAddress();
  document.querySelector('.home').hidden = ids.length === 0;
  leave = ids.length ? showRuns(content, ids, show) : showList(content);
}
onAddress(() => {
  show();
  window.scrollTo(0, 0);
});
// A page that the browser keeps for "back" must not hold one of its few connections to a server.
window.addEventListener('pagehide', () => {
  if (leave) leave();
  leave = null;
});
window.addEventListener('pageshow', (event) => event.persisted && show());
show();
