// What staff do on every desk of the console.

/** The page says what was done. */
export function praised({ page }) {
  return page.locator('.praise[role="status"]').first().waitFor();
}

/** Presses a button within `scope`, and again in the dialog that asks. With a name, the dialog is examined and closed first. */
export async function decide(visitor, scope, verb, name, fill = async () => {}) {
  const { page } = visitor;
  const dialog = page.getByRole('dialog');
  await scope.getByRole('button', { name: verb, exact: true }).click();
  await dialog.waitFor();
  if (name) {
    await visitor.look(name);
    await dialog.locator('[data-close]').click();
    await dialog.waitFor({ state: 'hidden' });
    await scope.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor();
  }
  await fill(dialog);
  await Promise.all([page.waitForEvent('load'), dialog.getByRole('button', { name: verb, exact: true }).click()]);
  await praised(visitor);
}
