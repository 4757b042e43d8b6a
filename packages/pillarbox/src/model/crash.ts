/**
 * What the deaths of planners say of a row:
 *
 *   0           nothing
 *   SUSPECT     a process died while it planned this row together with others
 *   2           a process died while it planned this row alone
 *   POISONED    a second one did
 *
 * What is suspect, or more, is planned alone. So a row that ends whatever plans it ends two processes where it was alone
 * from the beginning, and three where it was not. Deaths that have nothing to do with a row poison it only if two of them
 * fall into the moment in which it is planned alone.
 */
export const SUSPECT = 1
export const POISONED = 3

/** What is known of a row after the death of a planner that had noted it. */
export function afterCrash(before: number, { isAlone }: { isAlone: boolean }): number {
  const known = Math.max(before, SUSPECT)
  return isAlone ? known + 1 : known
}
