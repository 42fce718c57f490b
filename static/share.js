// The share button of a sale: opens the device's share sheet if there is one, otherwise copies the address.

const SAID_MS = 3000;

for (const button of document.querySelectorAll('[data-share]')) {
  const words = button.textContent;
  const { title, copied } = button.dataset;
  const url = new URL(button.dataset.url, location).href;
  button.hidden = !navigator.share && !navigator.clipboard;
  button.addEventListener('click', async () => {
    try {
      if (navigator.share) {
        await navigator.share({ title, url });
        return;
      }
      await navigator.clipboard.writeText(url);
    } catch {
      // The visitor closed the sheet, or the browser forbids copying.
      return;
    }
    button.textContent = copied;
    setTimeout(() => { button.textContent = words; }, SAID_MS);
  });
}
