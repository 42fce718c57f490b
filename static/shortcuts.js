// The console's list of keys: a dialog that `?` opens and closes, and the button beside the sections. The keys
// themselves belong to `palette.js`, `tables.js` and `pause_key.js`.

/** Whether a key is a command: it has no modifier, and no field or dialog has the focus. */
export function isCommand(event) {
  return !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest('input:not([type="checkbox"]), textarea, select, dialog, [contenteditable]');
}

export function installShortcuts() {
  const opener = document.querySelector('[data-shortcuts]');
  const dialog = document.getElementById('shortcuts');
  if (!opener || !dialog?.showModal) return;
  const toggle = () => (dialog.open ? dialog.close() : dialog.showModal());
  opener.hidden = false;
  opener.addEventListener('click', toggle);
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  addEventListener('keydown', (event) => {
    const typing = event.target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]');
    const busy = !dialog.open && document.querySelector('dialog[open]');
    if (event.key !== '?' || typing || busy || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    toggle();
  });
}
