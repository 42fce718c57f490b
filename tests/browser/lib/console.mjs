// Actions that every section of the console has.

/** Waits for the message that an action succeeded. */
export function isConfirmed({ page }) {
  return page.locator('.success[role="status"]').first().waitFor();
}

/** Opens the menu of a row, if it has one. */
export async function openMenu(row) {
  const menu = row.locator('.menu:not([open]) > summary');
  if (await menu.count() > 0 && await menu.first().isVisible()) await menu.first().click();
}

/** Presses a button within `scope` and confirms it in the dialog. With a name, the dialog is inspected and closed once first. */
export async function confirmAction(visitor, scope, label, name, fill = async () => {}) {
  const { page } = visitor;
  const dialog = page.getByRole('dialog');
  await openMenu(scope);
  await scope.getByRole('button', { name: label, exact: true }).click();
  await dialog.waitFor();
  if (name) {
    await visitor.inspect(name);
    await dialog.locator('[data-close]').click();
    await dialog.waitFor({ state: 'hidden' });
    await openMenu(scope);
    await scope.getByRole('button', { name: label, exact: true }).click();
    await dialog.waitFor();
  }
  await fill(dialog);
  await Promise.all([page.waitForEvent('load'), dialog.getByRole('button', { name: label, exact: true }).click()]);
  await isConfirmed(visitor);
}
