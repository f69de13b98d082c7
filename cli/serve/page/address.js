// The address names the part of the page: "/" the list, "/runs/ID,ID" one or more runs.

// Returns the ids of the runs that the address names, each once.
export const idsOfAddress = () => [...new Set((location.pathname.match(/^\/runs\/([^/]+)\/?$/)?.[1] ?? '').split(',').filter(Boolean))];

export const addressOf = (ids) => `/runs/${ids.join(',')}`;

// Older versions named runs behind "#".
if (location.hash.startsWith('#/')) history.replaceState(null, '', location.hash.slice(1));

const listeners = [];
let named = location.pathname;
function tell() {
  if (location.pathname === named) return;  // a place in the same part
  named = location.pathname;
  listeners.forEach((act) => act());
}

// Calls `act` when the address names another part of the page.
export function onAddress(act) {
  listeners.push(act);
}

// Shows another part of the page, as a link does.
export function go(address) {
  history.pushState(null, '', address);
  tell();
}

window.addEventListener('popstate', tell);
document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="/"]');
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.getAttribute('href'));
});
